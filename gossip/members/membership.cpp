#include "gossip/members/membership.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/planted.h"

namespace starling::gossip {
namespace {

constexpr Duration kAwayLeast = std::chrono::milliseconds(500);
// How many joins of unknown nodes this node answers at once, and per second. Larger: a peer can
// cause more connections to invented addresses. Smaller: a large cluster forms more slowly.
constexpr double kStrangersAtOnce = 1024, kStrangersPerSecond = 256;

Prober::View view_of(const Roster& roster, Dissemination& news, const Extremes& extremes) {
  return {&roster.own(), roster.present_others(), [&roster](NodeId id) { return roster.find(id); },
          [&news](NodeId to) { return news.rumors_for(to); }, extremes.ranges()};
}

// Whether this node has that record already and the rumor accuses nobody: most rumors.
bool is_known(const Roster::Entry* known, const Rumor& rumor) {
  return known && known->member.is(rumor.member) && rumor.liveness == Liveness::alive &&
         !known->is_hearsay;
}

// Whether the rumor says that a member is dead which is present here.
bool is_of_lost(const Rumor& rumor, const Roster& roster) {
  const Roster::Entry* known = roster.entry(rumor.member->id);
  return known && known->is_present() && rumor.liveness == Liveness::dead &&
         age(rumor.member) >= age(known->member);
}

// Whether another node of the subject's name answered the helper that sends this.
bool is_of_namesake(const Roster& roster, const Envelope& from, const Probe& probe) {
  const Roster::Entry* subject = roster.entry(probe.subject);
  const bool is_indirect = probe.kind == Probe::Kind::ack && probe.subject != from.sender;
  return is_indirect && subject && std::ranges::any_of(probe.rumors, [&](const Rumor& rumor) {
           return rumor.member->id == probe.subject &&
                  rumor.member->control != subject->member->control &&
                  age(rumor.member) > age(subject->member);
         });
}

}  // namespace

Membership::Membership(const Options& options, Notary& notary, Time now)
    : period_(options.timing.period),
      identity_(options, now),
      roster_(identity_.record()),
      evidence_(notary, roster_),
      prng_(Prng::derive(options.seed, node_id(options.name).value)),
      prober_(options.timing, prng_.next(), now),
      extremes_(options.timing.period, now),
      dissemination_(options.timing, roster_, prng_, now),
      law_(options.timing, roster_, dissemination_, prober_),
      search_(options, roster_, prng_, now),
      revocations_(roster_, law_, prng_),
      reachability_(options, roster_, prng_, now),
      strangers_(kStrangersAtOnce, kStrangersPerSecond, now),
      expected_(now) {}

// Members are not suspected for answers missed while this node did not run: their time is extended.
bool Membership::awake(Time now) {
  const Duration away = now - expected_;
  if (away < kAwayLeast) return false;
  expected_ = now;
  prober_.was_away(away);
  law_.was_away(away);
  return true;
}

// ---------------------------------------------------------------- messages from members

// A kind without an operator is an error of the compiler.
struct Membership::Hearing {
  Membership& membership;
  Time now;
  const Envelope& from;
  Outbox& out;

  void operator()(const Join& join) const { membership.hear(now, from, join, out); }
  void operator()(const Gossip& gossip) const {
    for (const Rumor& rumor : gossip.rumors) membership.merge(now, from.sender, rumor, out);
  }
  void operator()(const Table& table) const { membership.hear(now, from, table, out); }
  void operator()(const Digest& digest) const {
    if (membership.roster_.entry(from.sender))
      membership.dissemination_.receive(from.sender, digest, out);
  }
  void operator()(const Probe& probe) const { membership.hear(now, from, probe, out); }
  void operator()(const DialBack& dial) const {
    membership.reachability_.receive(now, from.sender, dial, out);
  }
  void operator()(const Revoked& news) const { membership.revocations_.receive(now, news, out); }
};

void Membership::receive(Time now, const Envelope& from, const MembershipBody& body, Outbox& out) {
  std::visit(Hearing{*this, now, from, out}, body);
}

// A Join of a known member from its known address is always answered; other joins are limited.
void Membership::hear(Time now, const Envelope& from, const Join& join, Outbox& out) {
  const auto is_known = [&] {
    const Roster::Entry* entry = roster_.entry(join.self.id);
    return entry && entry->member->control == join.self.control;
  };
  if (join.self.id != from.sender || !(is_known() || strangers_.take(now))) return;
  merge(now, from.sender, {Record(join.self)}, out);
  if (is_known())
    out.send(join.self.id, dissemination_.table(false));
  else
    out.answer(from.sender, join.self.control, dissemination_.table(false));
}

// A member that is dead in an old table may have come back. So this node probes the member, and
// sends it the rumor, which only the member can refute. A newcomer does not queue the rumors of its
// first table: the other members know them.
void Membership::hear(Time now, const Envelope& from, const Table& table, Outbox& out) {
  const bool is_newcomer = roster_.others().empty();
  bool names_another = false;
  for (const Rumor& rumor : table.rumors) {
    const bool is_elsewhere =
        rumor.member->id == roster_.self() && rumor.member->control != roster_.own().control;
    const bool is_lost = is_of_lost(rumor, roster_);
    const bool is_heard = merge(now, from.sender, is_lost ? Rumor{rumor.member} : rumor, out);
    names_another |= is_heard && is_elsewhere && rumor.liveness <= Liveness::suspect;
    if (!is_lost) continue;
    law_.doubt(now, rumor.member->id);
    out.send(rumor.member->id, Gossip{{rumor}});
  }
  if (!names_another) identity_.accepted();
  heard_from(now, from.sender, from.incarnation, out);
  if (is_newcomer) dissemination_.restart();
  revocations_.compare(from.sender, table.revocations, out);
  if (table.asks && roster_.entry(from.sender)) out.send(from.sender, dissemination_.table(false));
}

void Membership::hear(Time now, const Envelope& from, const Probe& probe, Outbox& out) {
  // The sender has an earlier incarnation than the one known here: the rumor in the answer shows
  // which incarnation it must exceed.
  const Roster::Entry* known = roster_.entry(from.sender);
  if (known && from.incarnation < known->member->incarnation)
    return out.send(from.sender, Gossip{{{known->member, known->liveness, roster_.self()}}});
  for (const Rumor& rumor : probe.rumors) merge(now, from.sender, rumor, out);
  extremes_.receive(now, probe.ranges);
  // The sender may have been forgotten, to make room for a member that a rumor named.
  Roster::Entry* sender = roster_.entry(from.sender);
  if (!sender) return;
  // Another node of the member's name answers in its place.
  if (sender->rival && from.incarnation == (*sender->rival)->incarnation) return;
  if (probe.kind == Probe::Kind::ack && probe.subject == from.sender) sender->is_reached = true;
  // An indirect probe is acknowledged at once if the subject sent this node a message within the
  // last period: a ping may be stuck behind vectors, whose chunks show that the subject lives.
  const bool asks_for_another = probe.kind == Probe::Kind::request;
  if (const Roster::Entry* subject = roster_.entry(probe.subject);
      asks_for_another && subject && subject->is_present() && now - subject->last_heard < period_)
    return out.send(from.sender, indirect_ack(probe.number, probe.subject, &*subject->member));
  Prober::View seen = view_of(roster_, dissemination_, extremes_);
  // The answer informs a sender that is suspect or dead here, so that it can refute that.
  seen.news = [this, to = from.sender](NodeId) { return dissemination_.rumors_for(to); };
  if (!is_of_namesake(roster_, from, probe))
    return prober_.receive(now, from.sender, probe, seen, roster_.self(), out);
  Probe silence = probe;
  silence.kind = Probe::Kind::nack;
  prober_.receive(now, from.sender, silence, seen, roster_.self(), out);
}

void Membership::hear_namesake(Time now, const Body& body, Outbox& out) {
  const auto is_sound = [&](const Member& other) {
    return identity_.is_credible(now, other) && evidence_.weigh({Record(other)});
  };
  const auto* join = std::get_if<Join>(&body);
  if (join && is_sound(join->self)) identity_.meet(now, *join, out);
  const auto* table = std::get_if<Table>(&body);
  if (table && !table->rumors.empty() && is_sound(table->rumors.front().member))
    identity_.meet(now, *table, out);
}

// Returns whether the rumor was believed, at least in part. Only this node can refute an accusation
// of itself, with a record that overrides it.
bool Membership::merge(Time now, NodeId teller, const Rumor& rumor, Outbox& out) {
  const Member& member = rumor.member;
  const Roster::Entry* known = roster_.entry(member.id);
  if (known && teller != member.id && rumor.liveness == known->liveness &&
      age(member) == age(known->member))
    dissemination_.hear_again(member.id);
  if (is_known(known, rumor)) return true;
  if (member.id != node_id(member.name) || !identity_.is_credible(now, member)) return false;
  const std::optional<Rumor> proven = evidence_.weigh(rumor);
  if (!proven) return false;
  if (member.id != roster_.self()) {
    law_.hear(now, *proven, out);
  } else if (identity_.hear(now, *proven, out)) {
    if (rumor.liveness == Liveness::suspect) prober_.refuted();
    self_changed(now);
  }
  return true;
}

void Membership::self_changed(Time now) {
  roster_.touch();
  dissemination_.add(roster_.self());
  search_.hurry(now);
}

void Membership::refused(Time now, const Refused& refused, Outbox& out) {
  if (identity_.refused(refused.at, out)) self_changed(now);
  search_.seeds().refused(refused.at);
  reachability_.failed(refused.at, out);
  if (refused.of) law_.refused(now, *refused.of, refused.at, out);
}

void Membership::unanswered(Time now, const Unanswered& unanswered, Outbox& out) {
  search_.seeds().unanswered(unanswered.at);
  reachability_.failed(unanswered.at, out);
  if (unanswered.of) law_.unanswered(now, *unanswered.of, unanswered.at);
}

void Membership::resolved(Time now, const Resolved& name, Outbox& out) {
  search_.resolved(now, name);
  if (name.at.is_in_dns()) return;
  roster_.note_host(name.at.at.host, name.problem);
  reachability_.resolved(name.at.at, out);
}

// ---------------------------------------------------------------- time

void Membership::tick(Time now, Outbox& out) {
  if (identity_.tick(now, out)) self_changed(now);
  const bool is_contested = identity_.is_contested();
  if (!is_contested) {
    extremes_.tick(now, roster_.present_count());
    if (now >= prober_.deadline())
      for (const Prober::Silence& silence :
           prober_.tick(now, view_of(roster_, dissemination_, extremes_), out))
        law_.hear_silence(now, silence, out);
    law_.tick(now, out);
    if (const auto is_hidden = reachability_.tick(now, out))
      tell_reachability(now, *is_hidden, out);
  }
  search_.tick(now, is_contested, out);
  if (!is_contested) dissemination_.tick(now, out);
  expected_ = deadline();
}

Time Membership::deadline() const {
  const Time least = std::min(identity_.deadline(), search_.deadline());
  if (identity_.is_contested()) return least;
  return std::min({least, prober_.deadline(), law_.deadline(), dissemination_.deadline(),
                   reachability_.deadline()});
}

// ---------------------------------------------------------------- messages to members

// Sends the queued rumors too: hidden nodes reach only a relay, which may be the only one to know
// them. A member that counts as dead may only be cut off, and is sent them as well.
void Membership::leave(Outbox& out) {
  identity_.leave();
  std::vector<NodeId> listeners = within_reach(roster_);
  for (const auto& entry : roster_.others())
    if (entry->liveness == Liveness::dead && !is_hidden(*entry->member))
      listeners.push_back(entry->member->id);
  for (const NodeId id : listeners) {
    Gossip goodbye{dissemination_.rumors_for(id)};
    goodbye.rumors.back() = {roster_.own_record(), Liveness::left, roster_.self()};
    out.send(id, std::move(goodbye));
  }
}

// A node that becomes hidden opens the connections over which the others reach it.
void Membership::tell_reachability(Time now, bool is_hidden, Outbox& out) {
  identity_.set_unreachable(is_hidden);
  self_changed(now);
  if (!is_hidden) return;
  prober_.forgive();
  for (const NodeId id : within_reach(roster_)) out.send(id, Gossip{{{roster_.own_record()}}});
}

void Membership::set_self(const Report& report) {
  const Identity::News news = identity_.update(report);
  if (news == Identity::News::none) return;
  if (news == Identity::News::state) roster_.touch();
  if (!PLANTED(phase_untold)) dissemination_.add(roster_.self());
}

std::string Membership::health() const {
  constexpr int kPoor = 4;
  if (prober_.stretch() < kPoor) return {};
  return fmt::format(
      "this node is slow to answer or hears little: it gives others {} times the time to answer",
      prober_.stretch());
}

std::vector<std::string> Membership::warnings(Time now) const {
  std::vector<std::string> warnings = search_.seeds().reasons(now, connected());
  std::ranges::move(law_.warnings(now), std::back_inserter(warnings));
  std::ranges::move(reachability_.warnings(), std::back_inserter(warnings));
  return warnings;
}

}  // namespace starling::gossip
