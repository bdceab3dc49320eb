#include "gossip/members/membership.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

constexpr Duration kDeadPauseLimit = std::chrono::seconds(6);
constexpr Duration kAskEvery = std::chrono::milliseconds(500);
constexpr Duration kForgetLeft = std::chrono::minutes(10);
constexpr Duration kAwayLeast = std::chrono::milliseconds(500);
constexpr std::size_t kOthersLimit = kMembersLimit - 1;
// Joins of nodes that are not members yet, which this node answers at once and per second. Larger:
// a peer can cause more connections to invented addresses. Smaller: a large cluster gathers more
// slowly.
constexpr double kStrangersAtOnce = 1024, kStrangersPerSecond = 256;
// How long a claim to a member's name from another address is remembered. Larger: a claimant that
// is gone itself may still take over the name when the member dies.
constexpr Duration kRememberRival = std::chrono::seconds(15);
// The first pause between exchanges of tables is this part of the usual one, and doubles up to it.
// When many nodes join at once, most nodes know a member from their first table and do not pass it
// on, so the news of the member may die out before all nodes have heard them.
constexpr int kFirstExchangeShare = 16;

auto age(const Member& member) {
  return std::tuple(member.incarnation, member.version);
}

bool contradicts(const Member& a, const Member& b) {
  return a.phase != b.phase || a.agreement != b.agreement || a.save_at != b.save_at;
}

}  // namespace

Membership::Membership(const Options& options, Time now)
    : timing_(options.timing),
      clock_(options.clock),
      started_(now),
      identity_(options),
      roster_(identity_.record()),
      seeds_(options.control, options.aliases, options.timing.retry),
      prng_(Prng::derive(options.seed, node_id(options.name).value)),
      prober_(options.timing, prng_.next(), now),
      extremes_(options.timing.period, now),
      last_news_(now - options.timing.news),
      next_exchange_(now + options.timing.exchange / kFirstExchangeShare),
      exchange_pause_(options.timing.exchange / kFirstExchangeShare),
      next_ask_(now),
      strangers_left_(kStrangersAtOnce),
      counted_strangers_(now),
      expected_(now) {
  for (const SeedName& seed : options.seeds) seeds_.add(seed, true, now);
  for (const Endpoint& peer : options.peers) seeds_.add(peer, false, now);
}

// Members are not blamed for answers missed while this node did not run: their time is extended.
void Membership::awake(Time now) {
  const Duration away = now - expected_;
  if (away < kAwayLeast) return;
  expected_ = now;
  prober_.was_away(away);
  for (auto& [id, entry] : roster_.others())
    if (entry.suspicion) entry.suspicion->postpone(away);
  if (next_judgement_ != kNever) next_judgement_ += away;
}

// ---------------------------------------------------------------- what is heard

// A Join of a known member from its known address is always answered; strangers are limited.
bool Membership::welcomes(Time now, const Join& join) {
  const Endpoint* control = roster_.control_of(join.self.id);
  if (control && *control == join.self.control) return true;
  strangers_left_ += kStrangersPerSecond * seconds(now - std::exchange(counted_strangers_, now));
  strangers_left_ = std::min(strangers_left_, kStrangersAtOnce);
  if (strangers_left_ < 1) return false;
  strangers_left_ -= 1;
  return true;
}

void Membership::receive(Time now, const Envelope& from, const Body& body, Outbox& out) {
  if (from.sender == roster_.self()) return hear_namesake(now, body, out);
  if (const auto* join = std::get_if<Join>(&body)) hear(now, from, *join, out);
  if (const auto* gossip = std::get_if<Gossip>(&body)) hear(now, from, *gossip, out);
  if (const auto* table = std::get_if<Table>(&body)) hear(now, from, *table, out);
  if (const auto* probe = std::get_if<Probe>(&body)) hear(now, from, *probe, out);
}

void Membership::hear(Time now, const Envelope&, const Join& join, Outbox& out) {
  if (!welcomes(now, join)) return;
  merge(now, {join.self}, out);
  out.send(join.self.control, Table{false, table()});
}

void Membership::hear(Time now, const Envelope&, const Gossip& gossip, Outbox& out) {
  for (const Rumor& rumor : gossip.rumors) merge(now, rumor, out);
}

// A member that is dead in an old table may have come back, so it is treated as a suspect. What a
// newcomer learns from its first table is not news to the other members.
void Membership::hear(Time now, const Envelope& from, const Table& table, Outbox& out) {
  const bool is_newcomer = roster_.others().empty();
  bool names_another = false;
  for (Rumor rumor : table.rumors) {
    const bool is_elsewhere =
        rumor.member.id == roster_.self() && rumor.member.control != self_record().control;
    names_another |= is_elsewhere && rumor.liveness <= Liveness::suspect;
    if (rumor.liveness == Liveness::dead && roster_.find(rumor.member.id) && !is_elsewhere)
      rumor.liveness = Liveness::suspect, rumor.accuser = from.sender;
    merge(now, rumor, out);
  }
  if (!names_another) identity_.accepted();
  heard_from(now, from.sender, from.incarnation);
  if (is_newcomer) {
    dissemination_ = {};
    add_news({self_record()});
  }
  const Endpoint* control = roster_.control_of(from.sender);
  if (table.asks && control) out.send(*control, Table{false, this->table()});
}

void Membership::hear(Time now, const Envelope& from, const Probe& probe, Outbox& out) {
  // The sender speaks as an earlier incarnation than the one known here: the rumor that it gets
  // back tells it what to outdo.
  const auto known = roster_.others().find(from.sender);
  if (known != roster_.others().end() && from.incarnation < known->second.member.incarnation) {
    const Entry& entry = known->second;
    out.send(entry.member.control, Gossip{{{entry.member, entry.liveness, roster_.self()}}});
    return;
  }
  for (const Rumor& rumor : probe.rumors) merge(now, rumor, out);
  extremes_.receive(now, probe.ranges);
  // The sender may have made room for a member of which it told.
  const auto sender = roster_.others().find(from.sender);
  if (sender != roster_.others().end() && probe.kind == Probe::Kind::ack &&
      probe.subject == from.sender)
    sender->second.is_reached = true;
  const Endpoint* control = roster_.control_of(from.sender);
  if (!control) return;
  // This node heard the subject within the last period and answers for it: a ping may be stuck
  // behind vectors, whose chunks show that the subject lives.
  const bool asks_for_another = probe.kind == Probe::Kind::request;
  if (const auto subject = roster_.others().find(probe.subject);
      asks_for_another && subject != roster_.others().end() && subject->second.is_present() &&
      now - subject->second.last_heard < timing_.period)
    return out.send(*control, Probe{Probe::Kind::ack, probe.number, probe.subject, {}, {}});
  Prober::View seen = view();
  // A sender that is suspect or dead here learns so with the answer, and can refute it.
  seen.news = [this, to = from.sender](NodeId) { return news_for(to); };
  prober_.receive(now, *control, probe, seen, roster_.self(), out);
}

void Membership::hear_namesake(Time now, const Body& body, Outbox& out) {
  const auto* join = std::get_if<Join>(&body);
  if (join && is_credible(now, join->self)) identity_.meet(now, *join, out);
  const auto* table = std::get_if<Table>(&body);
  if (table && !table->rumors.empty() && is_credible(now, table->rumors.front().member))
    identity_.meet(now, *table, out);
}

// The last incarnation of all could not be outdone: its member would be lost for good.
bool Membership::is_credible(Time now, const Member& member) const {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_).count();
  return member.incarnation <= latest_incarnation(clock_ + static_cast<std::uint64_t>(age));
}

void Membership::heard_from(Time now, NodeId id, std::uint64_t incarnation) {
  const auto found = roster_.others().find(id);
  if (found == roster_.others().end() || found->second.member.incarnation != incarnation) return;
  connected_ = true;
  found->second.has_spoken = true;
  if (found->second.is_present()) found->second.last_heard = now;
}

void Membership::refused(Time now, const Endpoint& at, Outbox& out) {
  if (identity_.refused(at, out)) self_changed(now);
  seeds_.refused(at);
  for (auto& [id, entry] : roster_.others()) {
    if (!entry.is_present() || entry.member.control != at) continue;
    prober_.refused(id);
    entry.refused = now;
    if (entry.rival) {
      is_dead(now, entry, {entry.member, Liveness::dead, roster_.self()}, out);
      continue;
    }
    if (entry.liveness == Liveness::alive)
      is_suspect(now, entry, {entry.member, Liveness::suspect, roster_.self()}, out);
    entry.suspicion->refuse(now);
    next_judgement_ =
        std::min(next_judgement_, entry.suspicion->ends(timing_, roster_.present().size()));
  }
}

void Membership::unanswered(Time now, const Endpoint& at) {
  seeds_.unanswered(at);
  for (auto& [id, entry] : roster_.others()) {
    if (!entry.is_present() || entry.member.control != at) continue;
    entry.missed = now;
    if (!entry.suspicion) continue;
    entry.suspicion->miss();
    next_judgement_ =
        std::min(next_judgement_, entry.suspicion->ends(timing_, roster_.present().size()));
  }
}

void Membership::doubt(Time now, NodeId id) {
  const auto found = roster_.others().find(id);
  if (found != roster_.others().end() && found->second.liveness == Liveness::alive)
    prober_.doubt(now, id);
}

// ---------------------------------------------------------------- the law of rumors

void Membership::merge(Time now, const Rumor& rumor, Outbox& out) {
  if (rumor.member.id != node_id(rumor.member.name) || !is_credible(now, rumor.member)) return;
  if (rumor.member.id == roster_.self()) return about_self(now, rumor, out);
  const auto found = roster_.others().find(rumor.member.id);
  if (found == roster_.others().end()) return meet(now, rumor, out);
  const Entry& known = found->second;
  if (known.is_present() && rumor.member.control != known.member.control &&
      age(rumor.member) > age(known.member))
    return contest(now, found->second, rumor, out);
  switch (rumor.liveness) {
    case Liveness::alive:
      return is_alive(now, found->second, rumor, out);
    case Liveness::suspect:
      return is_suspect(now, found->second, rumor, out);
    case Liveness::dead:
      return is_dead(now, found->second, rumor, out);
    case Liveness::left:
      return has_left(now, found->second, rumor, out);
  }
}

void Membership::meet(Time now, const Rumor& rumor, Outbox& out) {
  if (rumor.liveness == Liveness::left || rumor.member.phase == Phase::left) return;
  if (roster_.others().size() >= kOthersLimit) forget_one(out);
  if (roster_.others().size() >= kOthersLimit) {
    turned_away_ = now;
    return;
  }
  Entry& entry = roster_.others()[rumor.member.id];
  entry.member = rumor.member;
  entry.last_heard = now;
  if (rumor.liveness == Liveness::dead) {
    entry.liveness = Liveness::dead;
    entry.next_ask = now;
    entry.pause = timing_.retry;
    return;
  }
  connected_ = true;
  roster_.touch();
  list(entry);
  out.event(Event::Kind::joined, fmt::format("{} joined", rumor.member.name));
  add_news({rumor.member});
  if (rumor.liveness == Liveness::suspect) is_suspect(now, entry, rumor, out);
}

// Only this node can refute an accusation of itself, with a record that outdoes the accusation.
void Membership::about_self(Time now, const Rumor& rumor, Outbox& out) {
  if (!identity_.hear(now, rumor, out)) return;
  if (rumor.liveness == Liveness::suspect) prober_.refuted();
  self_changed(now);
}

void Membership::self_changed(Time now) {
  roster_.touch();
  add_news({self_record()});
  next_ask_ = now;
  seeds_.hurry(now);
}

// The first of two nodes with one name stays as long as it lives. A node that came back at another
// address is believed once no process answers at the earlier address.
void Membership::contest(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  if (rumor.liveness <= Liveness::suspect &&
      (!entry.rival || age(*entry.rival) <= age(rumor.member))) {
    entry.rival = rumor.member;
    entry.rival_heard = now;
  }
  out.put(ConnectProbe{entry.member.control});
  doubt(now, entry.member.id);
}

void Membership::take_rival(Time now, Entry& entry, Outbox& out) {
  const std::optional<Member> rival = std::exchange(entry.rival, std::nullopt);
  if (rival && now - entry.rival_heard < kRememberRival) is_alive(now, entry, {*rival}, out);
}

void Membership::is_alive(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  const Member& heard = rumor.member;
  if (age(heard) == age(entry.member)) return is_same_age(entry, heard, out);
  if (age(heard) < age(entry.member)) return;
  const bool is_restarted = heard.incarnation > entry.member.incarnation;
  const bool was_present = entry.is_present();
  const bool is_changed = !was_present || is_restarted || contradicts(heard, entry.member);
  if (entry.liveness == Liveness::suspect && !is_restarted)
    out.event(Event::Kind::cleared, fmt::format("{} lives after all", heard.name));
  entry.member = heard;
  entry.liveness = Liveness::alive;
  entry.suspicion.reset();
  if (is_restarted) entry.is_reached = false, entry.refused = entry.missed = std::nullopt;
  if (!was_present) list(entry);
  entry.last_heard = now;
  connected_ = true;
  if (!was_present || is_restarted)
    out.event(Event::Kind::joined, fmt::format("{} is back", heard.name));
  if (is_changed) roster_.touch();
  add_news({heard});
}

// A member's round, its loss and for whom it waits change without a new version. If two records of
// the same age contradict each other, one is wrong; the member gets both, because only the member
// knows which.
void Membership::is_same_age(Entry& entry, const Member& heard, Outbox& out) {
  if (!entry.is_present()) return;
  if (contradicts(heard, entry.member))
    out.send(entry.member.control, Gossip{{{entry.member}, {heard}}});
  entry.member.saved = std::max(entry.member.saved, heard.saved);
  if (heard.round <= entry.member.round) return;
  entry.member.round = heard.round;
  entry.member.loss = heard.loss;
  entry.member.held = heard.held;
}

void Membership::is_suspect(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  if (entry.liveness >= Liveness::dead && age(rumor.member) <= age(entry.member)) return;
  if (age(rumor.member) < age(entry.member)) return;
  if (age(rumor.member) > age(entry.member)) is_alive(now, entry, rumor, out);
  if (!entry.is_present()) return;
  const NodeId accuser = rumor.accuser;
  if (entry.suspicion) {
    if (!entry.suspicion->accuse(accuser)) return;
  } else {
    entry.liveness = Liveness::suspect;
    entry.suspicion.emplace(now, accuser);
    out.event(Event::Kind::suspected, fmt::format("{} does not answer", entry.member.name));
  }
  next_judgement_ =
      std::min(next_judgement_, entry.suspicion->ends(timing_, roster_.present().size()));
  add_news({entry.member, Liveness::suspect, accuser});
}

void Membership::is_dead(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  if (age(rumor.member) < age(entry.member)) return;
  if (!entry.is_present()) return is_gone_again(entry, rumor);
  entry.member = rumor.member;
  entry.liveness = Liveness::dead;
  entry.suspicion.reset();
  entry.pause = timing_.retry;
  entry.next_ask = now + entry.pause;
  roster_.touch();
  roster_.unlist(entry);
  out.event(Event::Kind::died, fmt::format("{} died: not heard of for {:.1f} s", entry.member.name,
                                           seconds(now - entry.last_heard)));
  out.put(Hangup{entry.member.control});
  add_news({entry.member, Liveness::dead, rumor.accuser});
  take_rival(now, entry, out);
}

// The member restarted, unknown to this node, and died again.
void Membership::is_gone_again(Entry& entry, const Rumor& rumor) {
  if (age(rumor.member) == age(entry.member)) return;
  entry.member = rumor.member;
  entry.liveness = Liveness::dead;
  entry.pause = std::max(entry.pause, timing_.retry);
  add_news(rumor);
}

void Membership::has_left(Time now, Entry& entry, const Rumor& rumor, Outbox& out) {
  const bool is_known = entry.liveness == Liveness::left && age(rumor.member) == age(entry.member);
  if (is_known || age(rumor.member) < age(entry.member)) return;
  const bool was_present = entry.is_present();
  entry.member = rumor.member;
  entry.liveness = Liveness::left;
  entry.suspicion.reset();
  entry.last_heard = now;
  if (was_present) roster_.touch(), roster_.unlist(entry);
  out.event(Event::Kind::left, fmt::format("{} left", entry.member.name));
  out.put(Hangup{entry.member.control});
  add_news({entry.member, Liveness::left, rumor.accuser});
}

// ---------------------------------------------------------------- what time brings

void Membership::tick(Time now, Outbox& out) {
  if (identity_.tick(now, out)) self_changed(now);
  if (identity_.is_contested()) {
    if (now >= next_ask_) ask_for_the_name(now, out);
    expected_ = deadline();
    return;
  }
  extremes_.tick(now, roster_.present().size());
  if (now >= prober_.deadline())
    for (const Prober::Silence& silence : prober_.tick(now, view(), out))
      is_silent(now, silence, out);
  if (now >= next_judgement_) judge(now, out);
  if (now >= next_ask_) ask_the_lost(now, out);
  if (now >= next_exchange_) exchange_tables(now, out);
  if (now >= next_news_) tell_news(now, out);
  expected_ = deadline();
}

// A member that was heard after the probe was sent lives, though its answer was lost.
void Membership::is_silent(Time now, const Prober::Silence& silence, Outbox& out) {
  const auto found = roster_.others().find(silence.member);
  if (found == roster_.others().end()) return;
  Entry& entry = found->second;
  if (entry.last_heard > silence.since) return;
  is_suspect(now, entry, {entry.member, Liveness::suspect, roster_.self()}, out);
  if (!entry.suspicion) return;
  if (silence.is_confirmed) entry.suspicion->confirm();
  if (entry.missed && *entry.missed > silence.since) entry.suspicion->miss();
  next_judgement_ =
      std::min(next_judgement_, entry.suspicion->ends(timing_, roster_.present().size()));
}

Time Membership::deadline() const {
  if (identity_.is_contested()) return std::min(identity_.deadline(), next_ask_);
  return std::min({identity_.deadline(), prober_.deadline(), next_judgement_, next_ask_,
                   next_exchange_, next_news_});
}

// A suspect that was heard while it was suspected lives, though its refutation has not come yet:
// the suspicion starts again.
void Membership::judge(Time now, Outbox& out) {
  const std::size_t members = roster_.present().size();
  next_judgement_ = kNever;
  for (auto& [id, entry] : roster_.others()) {
    if (!entry.suspicion) continue;
    if (now >= entry.suspicion->ends(timing_, members)) {
      if (entry.last_heard <= entry.suspicion->since()) {
        is_dead(now, entry, {entry.member, Liveness::dead, roster_.self()}, out);
        continue;
      }
      entry.suspicion.emplace(now, roster_.self());
      prober_.doubt(now, id);
    }
    next_judgement_ = std::min(next_judgement_, entry.suspicion->ends(timing_, members));
  }
}

// Asks one member, which then checks the namesake and answers with its table.
void Membership::ask_for_the_name(Time now, Outbox& out) {
  next_ask_ = now + kAskEvery;
  if (roster_.present_others().empty()) return;
  const Member* member = roster_.present_others()[prng_.below(roster_.present_others().size())];
  out.send(member->control, Join{self_record()});
}

// Asks seeds at whose address no member is known, and the dead members in turn, in case they are
// only cut off.
void Membership::ask_the_lost(Time now, Outbox& out) {
  next_ask_ = now + kAskEvery;
  const Seeds::View view{[this](const Endpoint& at) { return roster_.knows_endpoint(at); },
                         roster_.present_others().empty()};
  seeds_.ask(now, view, self_record(), out);
  Entry* longest = nullptr;
  for (auto& [id, entry] : roster_.others()) {
    if (entry.liveness != Liveness::dead || now < entry.next_ask) continue;
    if (!longest || entry.next_ask < longest->next_ask) longest = &entry;
  }
  if (longest) {
    longest->pause = std::min(longest->pause * 2, kDeadPauseLimit);
    longest->next_ask = now + longest->pause;
    ask(longest->member, out);
  }
  std::erase_if(roster_.others(), [&](const auto& item) {
    return item.second.liveness == Liveness::left && now - item.second.last_heard > kForgetLeft;
  });
}

void Membership::leave(Outbox& out) {
  identity_.leave();
  const Gossip goodbye{{{self_record(), Liveness::left, roster_.self()}}};
  for (const auto& [id, entry] : roster_.others())
    if (entry.is_present()) out.send(entry.member.control, goodbye);
}

void Membership::set_self(const Identity::Report& report) {
  const Identity::News news = identity_.update(report);
  if (news == Identity::News::none) return;
  if (news == Identity::News::state) roster_.touch();
  if (!PLANTED(phase_untold)) add_news({self_record()});
}

}  // namespace starling::gossip
