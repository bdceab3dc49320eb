#include "gossip/members/rumor_law.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/utc.h"

namespace starling::gossip {
namespace {

constexpr std::size_t kOthersLimit = kMembersLimit - 1;
// How long a claim to a member's name from another address is remembered. Larger: a claimant that
// is gone itself may still take over the name when the member dies.
constexpr Duration kRememberRival = std::chrono::seconds(15);
// How long after its last message the status warns of a member whose address cannot be reached.
// Such a node sends a join every five seconds.
constexpr Duration kLately = std::chrono::seconds(8);
// How long the status warns that a newcomer was not taken in. It repeats its join more often.
constexpr Duration kFullMemory = std::chrono::minutes(1);

}  // namespace

// ---------------------------------------------------------------- the law of rumors

void RumorLaw::hear(Time now, const Rumor& rumor, Outbox& out) {
  Entry* known = roster_.entry(rumor.member->id);
  if (!known) return meet(now, rumor, out);
  if (Notary::is_other_key(rumor.member, known->member))
    return hear_reissue(now, *known, rumor.member, out);
  if (known->is_present() && rumor.member->control != known->member->control &&
      age(rumor.member) > age(known->member))
    return contest(now, *known, rumor, out);
  switch (rumor.liveness) {
    case Liveness::alive:
      return hear_alive(now, *known, rumor, out);
    case Liveness::suspect:
    case Liveness::dead:
      return hear_accusation(now, *known, rumor, out);
    case Liveness::left:
      return mark_left(now, *known, rumor, out);
  }
}

void RumorLaw::meet(Time now, const Rumor& rumor, Outbox& out) {
  if (rumor.liveness == Liveness::left || rumor.member->phase == Phase::left) return;
  if (rumor.liveness == Liveness::dead && absent_count(roster_) >= absent_limit(roster_)) return;
  if (roster_.others().size() >= kOthersLimit) forget_one(out);
  if (roster_.others().size() >= kOthersLimit) {
    turned_away_ = now;
    return;
  }
  Entry& entry = roster_.add(rumor.member);
  entry.last_heard = entry.told = now;
  out.put(Reach{rumor.member->id, contact_of(rumor.member)});
  if (rumor.liveness == Liveness::dead) {
    roster_.become(entry, rumor.member, Liveness::dead);
    entry.is_hearsay = true;
    entry.next_ask = now;
    entry.pause = timing_.retry;
    return;
  }
  admit(now, entry, out);
  if (rumor.liveness == Liveness::suspect) hear_accusation(now, entry, rumor, out);
}

void RumorLaw::admit(Time now, Entry& entry, Outbox& out) {
  entry.last_heard = now;
  connected_ = true;
  roster_.touch();
  list(entry);
  greet(entry.member, out);
  out.event(Event::Kind::joined, fmt::format("{} joined", entry.member->name));
  dissemination_.add(entry.member->id);
}

// The member cannot dial this node, and needs the connection for its probes.
void RumorLaw::greet(const Member& member, Outbox& out) {
  if (is_hidden(roster_.own()) && !is_hidden(member))
    out.send(member.id, Gossip{{{roster_.own_record()}}});
}

// The first of two nodes with one name stays as long as it lives. A node that returns at another
// address is accepted once no process answers at the earlier one.
void RumorLaw::contest(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  if (rumor.liveness <= Liveness::suspect &&
      (!entry.rival || age(*entry.rival) <= age(rumor.member))) {
    entry.rival = rumor.member;
    entry.rival_heard = now;
  }
  out.put(ConnectProbe{entry.member->id});
  doubt(now, entry.member->id);
}

void RumorLaw::take_rival(Time now, Entry& entry, Outbox& out) {
  const std::optional<Record> rival = std::exchange(entry.rival, std::nullopt);
  if (rival && now - entry.rival_heard < kRememberRival) hear_alive(now, entry, {*rival}, out);
}

void RumorLaw::hear_alive(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  const Record& heard = rumor.member;
  if (age(heard) == age(entry.member)) return hear_same_age(now, entry, heard, out);
  if (age(heard) < age(entry.member)) return;
  const bool is_restarted = heard->incarnation > entry.member->incarnation;
  const bool was_present = entry.is_present();
  const bool is_changed = !was_present || is_restarted || contradicts(heard, entry.member);
  if (entry.liveness == Liveness::suspect && !is_restarted)
    out.event(Event::Kind::cleared, fmt::format("{} lives after all", heard->name));
  if (is_hidden(heard) && !is_hidden(entry.member)) prober_.forgive();
  become(entry, heard, Liveness::alive, out);
  entry.told = now;
  if (is_restarted) entry.is_reached = false, entry.refused = entry.missed = std::nullopt;
  if (!was_present) list(entry);
  entry.last_heard = now;
  connected_ = true;
  if (!was_present || is_restarted) {
    greet(heard, out);
    out.event(Event::Kind::joined, fmt::format("{} is back", heard->name));
  }
  if (is_changed) roster_.touch();
  dissemination_.add(heard->id);
}

// The name has a new key, and the certificate of the earlier one is refused from now on.
void RumorLaw::hear_reissue(Time now, Entry& entry, const Record& heard, Outbox& out) {
  if (heard->phase == Phase::left) return;
  const bool was_present = entry.is_present();
  out.put(Hangup{heard->id});
  become(entry, heard, Liveness::alive, out);
  entry.told = now;
  entry.is_reached = false, entry.refused = entry.missed = std::nullopt, entry.rival.reset();
  if (!was_present) list(entry);
  entry.last_heard = now;
  out.event(Event::Kind::joined, fmt::format("{} is back with a new key", heard->name));
  roster_.touch();
  dissemination_.add(heard->id);
}

// If two records of the same age contradict each other, one is wrong; the member is sent both,
// because only the member knows which.
void RumorLaw::hear_same_age(Time now, Entry& entry, const Record& heard, Outbox& out) {
  if (entry.is_hearsay) {
    roster_.become(entry, heard, Liveness::alive);
    entry.told = now;
    admit(now, entry, out);
    return doubt(now, heard->id);
  }
  if (!entry.is_present()) return;
  if (contradicts(heard, entry.member))
    out.send(entry.member->id, Gossip{{{entry.member}, {heard}}});
  if (!outdates(heard, entry.member)) return;
  const bool is_other = contradicts(heard, entry.member);
  if (!have_same_contact(heard, entry.member)) out.put(Reach{heard->id, contact_of(heard)});
  roster_.replace(entry, heard);
  entry.told = now;
  if (!is_other) return;
  roster_.touch();
  dissemination_.add(heard->id);
}

// An accusation with a later record shows that the member lived until that record.
void RumorLaw::hear_accusation(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  if (age(rumor.member) < age(entry.member)) return;
  const bool contradicts_hearsay = entry.is_hearsay && rumor.liveness == Liveness::suspect;
  if (age(rumor.member) > age(entry.member) || contradicts_hearsay)
    hear_alive(now, entry, rumor, out);
  if (!entry.is_present() || !counts(now, entry, rumor, out)) return;
  entry.accusation = {rumor.liveness, rumor.accuser, rumor.signature};
  judge_by(*entry.suspicion);
  dissemination_.add(entry.member->id);
}

// Whether the accusation is new. One other node's claim of death is not enough: this node probes
// the member itself, at once.
bool RumorLaw::counts(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  const bool is_first = !entry.suspicion;
  if (is_first) {
    entry.liveness = Liveness::suspect;
    entry.suspicion = std::make_unique<Suspicion>(now, rumor.accuser);
    out.event(Event::Kind::suspected, fmt::format("{} does not answer", entry.member->name));
  }
  const bool accuses = entry.suspicion->accuse(rumor.accuser) || is_first;
  const bool looks = !entry.suspicion->has_claim();
  if (rumor.liveness != Liveness::dead || !roster_.find(rumor.accuser) ||
      !entry.suspicion->claim_death(rumor.accuser))
    return accuses;
  if (looks) {
    prober_.doubt(now, entry.member->id);
    out.put(ConnectProbe{entry.member->id});
  }
  return true;
}

// Accuses the member on this node's own finding.
void RumorLaw::suspect(Time now, Entry& entry, Outbox& out) {
  hear_accusation(now, entry, {entry.member, Liveness::suspect, roster_.self()}, out);
}

void RumorLaw::declare_dead(Time now, Entry& entry, Outbox& out) {
  roster_.become(entry, entry.member, Liveness::dead);
  entry.pause = timing_.retry;
  entry.next_ask = now + entry.pause;
  roster_.unlist(entry);
  out.event(Event::Kind::died, fmt::format("{} died: not heard of for {:.1f} s", entry.member->name,
                                           seconds(now - entry.last_heard)));
  out.put(Hangup{entry.member->id});
  dissemination_.add(entry.member->id);
  take_rival(now, entry, out);
}

void RumorLaw::mark_left(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  const bool is_known = entry.liveness == Liveness::left && age(rumor.member) == age(entry.member);
  if (is_known || age(rumor.member) < age(entry.member)) return;
  const bool was_present = entry.is_present();
  become(entry, rumor.member, Liveness::left, out);
  entry.last_heard = entry.told = now;
  if (was_present) roster_.unlist(entry);
  out.event(Event::Kind::left, fmt::format("{} left", entry.member->name));
  out.put(Hangup{entry.member->id});
  dissemination_.add(entry.member->id);
}

void RumorLaw::expel(Time now,
                     const std::function<std::optional<std::uint64_t>(const Member&)>& when,
                     Outbox& out) {
  for (const auto& other : roster_.others()) {
    Entry& entry = *other;
    const NodeId id = entry.member->id;
    const auto time = entry.liveness == Liveness::left ? std::nullopt : when(entry.member);
    if (!time) continue;
    const bool was_present = entry.is_present();
    roster_.become(entry, entry.member, Liveness::left);
    entry.last_heard = now;
    if (was_present) roster_.unlist(entry);
    out.event(Event::Kind::left,
              fmt::format("{} was revoked at {}", entry.member->name, utc_text(*time)));
    out.put(Hangup{id});
    dissemination_.forget(id);
  }
}

// Members that never sent this node a message make room first, because any peer can invent them;
// among those, absent members before present ones. Then the member that has been absent longest. A
// present member that has sent a message stays.
void RumorLaw::forget_one(Outbox& out) {
  const auto worth = [](const Entry& entry) {
    return std::tuple(entry.has_spoken, entry.is_present(), entry.last_heard);
  };
  const auto least = std::ranges::min_element(
      roster_.others(), [&](const auto& a, const auto& b) { return worth(*a) < worth(*b); });
  if (least == roster_.others().end()) return;
  Entry& entry = **least;
  if (entry.has_spoken && entry.is_present()) return;
  const NodeId id = entry.member->id;
  if (entry.is_present()) roster_.unlist(entry);
  out.put(Reach{id, {}});
  dissemination_.forget(id);
  roster_.erase(id);
}

void RumorLaw::become(Entry& entry, const Record& newer, Liveness now, Outbox& out) {
  if (!have_same_contact(newer, entry.member)) out.put(Reach{newer->id, contact_of(newer)});
  roster_.become(entry, newer, now);
}

void RumorLaw::list(Entry& entry) {
  roster_.list(entry);
  dissemination_.meet(entry.member->id);
}

// ---------------------------------------------------------------- this node's findings

// A dead member that is hidden is not sent joins: the answer to its own message informs it that it
// must refute its death.
void RumorLaw::heard_from(Time now, NodeId id, std::uint64_t incarnation, Outbox& out) {
  Entry* entry = roster_.entry(id);
  if (!entry || entry->member->incarnation != incarnation) return;
  connected_ = true;
  entry->has_spoken = true;
  if (entry->is_present()) entry->last_heard = now;
  if (entry->liveness != Liveness::dead || !is_hidden(entry->member) || now < entry->next_ask)
    return;
  entry->next_ask = now + timing_.retry;
  out.send(id, Gossip{{roster_.rumor_of(*entry)}});
}

// Null: the member is not present, or at another address by now.
RumorLaw::Entry* RumorLaw::at(NodeId id, const Endpoint& control) {
  Entry* entry = roster_.entry(id);
  return entry && entry->is_present() && entry->member->control == control ? entry : nullptr;
}

void RumorLaw::refused(Time now, NodeId id, const Endpoint& at, Outbox& out) {
  Entry* entry = this->at(id, at);
  if (!entry) return;
  prober_.refused(id);
  entry->refused = now;
  note_unreached(id);
  if (entry->rival) return declare_dead(now, *entry, out);
  if (entry->liveness == Liveness::alive) suspect(now, *entry, out);
  entry->suspicion->refuse(now);
  judge_by(*entry->suspicion);
}

void RumorLaw::note_unreached(NodeId id) {
  unreached_.insert(id);
  if (unreached_.size() > kMembersLimit)
    std::erase_if(unreached_, [this](NodeId other) { return !roster_.entry(other); });
}

void RumorLaw::unanswered(Time now, NodeId id, const Endpoint& at) {
  Entry* entry = this->at(id, at);
  if (!entry) return;
  entry->missed = now;
  note_unreached(id);
  if (!entry->suspicion) return;
  entry->suspicion->miss();
  judge_by(*entry->suspicion);
}

// A member whose message came after the probe was sent lives, though its answer was lost.
void RumorLaw::hear_silence(Time now, const Prober::Silence& silence, Outbox& out) {
  Entry* entry = roster_.entry(silence.member);
  if (!entry || entry->last_heard > silence.since) return;
  suspect(now, *entry, out);
  if (!entry->suspicion) return;
  if (silence.is_confirmed) entry->suspicion->confirm();
  if (entry->missed && *entry->missed > silence.since) entry->suspicion->miss();
  judge_by(*entry->suspicion);
}

void RumorLaw::doubt(Time now, NodeId id) {
  const Entry* entry = roster_.entry(id);
  if (entry && entry->liveness == Liveness::alive) prober_.doubt(now, id);
}

// ---------------------------------------------------------------- time

void RumorLaw::was_away(Duration away) {
  for (const auto& entry : roster_.others())
    if (entry->suspicion) entry->suspicion->postpone(away);
  if (next_judgement_ != kNever) next_judgement_ += away;
}

void RumorLaw::judge_by(const Suspicion& suspicion) {
  next_judgement_ = std::min(next_judgement_, suspicion.ends(timing_, roster_.present_count()));
}

// A suspect whose message came meanwhile lives, though its refutation has not come yet: the
// suspicion starts again.
void RumorLaw::tick(Time now, Outbox& out) {
  if (now < next_judgement_) return;
  const std::size_t members = roster_.present_count();
  next_judgement_ = kNever;
  for (const auto& other : roster_.others()) {
    Entry& entry = *other;
    if (!entry.suspicion) continue;
    if (now >= entry.suspicion->ends(timing_, members)) {
      if (entry.last_heard <= entry.suspicion->since()) {
        declare_dead(now, entry, out);
        continue;
      }
      entry.suspicion = std::make_unique<Suspicion>(now, roster_.self());
      entry.accusation = {Liveness::suspect, roster_.self(), {}};
      prober_.doubt(now, entry.member->id);
    }
    next_judgement_ = std::min(next_judgement_, entry.suspicion->ends(timing_, members));
  }
}

std::vector<std::string> RumorLaw::warnings(Time now) const {
  std::vector<std::string> warnings;
  if (turned_away_ && now - *turned_away_ < kFullMemory)
    warnings.push_back(
        fmt::format("the cluster has {} members, as many as there may be; others are not taken in",
                    kMembersLimit));
  for (const NodeId id : unreached_) {
    const Entry* known = roster_.entry(id);
    if (!known) continue;
    const Entry& entry = *known;
    const bool is_heard =
        entry.is_present() && entry.has_spoken && now - entry.last_heard < kLately;
    // A member that was killed has sent nothing since then.
    const std::optional<Time> failed = entry.refused ? entry.refused : entry.missed;
    if (!is_heard || entry.is_reached || is_hidden(entry.member) || !failed ||
        entry.last_heard <= *failed)
      continue;
    const std::string at = to_string(entry.member->control);
    warnings.push_back(fmt::format(
        "messages come from {}, and {} {}, the address it gives: look at its listen.advertise",
        entry.member->name, entry.refused ? "nobody listens at" : "no host answers at", at));
  }
  return warnings;
}

}  // namespace starling::gossip
