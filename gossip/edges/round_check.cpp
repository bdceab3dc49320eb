#include "gossip/edges/round_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/planted.h"
#include "gossip/wire/message.h"

namespace starling::gossip {
namespace {

// A round is likely if it is at most kRoundsAhead turns above all known rounds, plus one for every
// 1/kRoundShare of this node's shortest round (at least kRoundLeast) since the peer's last new one.
constexpr std::uint64_t kRoundsAhead = 64;
constexpr int kRoundShare = 8;
constexpr Duration kRoundLeast = std::chrono::microseconds(20);
// No round above this is believed, so that rounds never reach the limit of a message.
constexpr std::uint64_t kRoundsMost = kRoundLimit / 2;
// The assumed age of the record of a peer from which no round was received yet.
constexpr Duration kRecordAge = std::chrono::seconds(5);

std::uint64_t ahead_of(const RoundCheck& known) {
  return kRoundsAhead * known.rounds.rounds_a_turn();
}

// Whether enough witnesses, neighbours or members by their records, are about as far ahead of this
// node as `round`: as many as may lie, since together with the peer they are one more. Half as far
// is enough, because records are seconds old. If fewer others have a model, all of them are enough.
// No witness is needed if the rounds of different nodes are unrelated, nor of the donor of this
// node's model (RoundCounter::has_model_of).
bool has_witnesses(const RoundCheck& known, NodeId peer, std::uint64_t round) {
  if (!known.rounds.are_related() || known.rounds.has_model_of(peer)) return true;
  const std::uint64_t own = known.rounds.round();
  std::map<NodeId, std::uint64_t> told;
  const auto tell = [&](NodeId id, std::uint64_t other) {
    if (id != peer && id != known.members.self()) told[id] = std::max(told[id], other);
  };
  for (const auto& [id, other] : known.neighbors.all())
    if (other.round > 0) tell(id, std::max(other.round, other.unlikely_round));
  for (const Member* member : known.members.ready()) tell(member->id, member->round);
  const auto witnesses = std::ranges::count_if(told, [&](const auto& item) {
    const std::uint64_t ahead = item.second - std::min(own, item.second);
    return round - own <= ahead_of(known) + 2 * ahead;
  });
  return static_cast<std::size_t>(witnesses) >= std::min(known.liars, told.size());
}

// The number of rounds in `age`, if one takes 1/kRoundShare of this node's shortest.
std::uint64_t rounds_within(Duration age, const Recent& times) {
  if (!times.is_measured()) return 0;
  return static_cast<std::uint64_t>(age / std::max(times.least() / kRoundShare, kRoundLeast));
}

// Compares with this node's round and those of its neighbours. For a peer without a received round
// the record's round counts too, if there are witnesses, because the record may be false.
bool is_likely(const RoundCheck& known, Time now, const Neighbor* neighbor, NodeId peer,
               std::uint64_t round) {
  const std::uint64_t ahead = ahead_of(known);
  std::uint64_t highest = known.rounds.round() + ahead;
  for (const auto& [id, other] : known.neighbors.all())
    highest = std::max(highest, other.round + ahead);
  if (PLANTED(believes_any_round)) return true;
  if (round > kRoundsMost) return false;
  const bool was_heard = neighbor && neighbor->round > 0;
  const Duration age = was_heard ? now - neighbor->heard : kRecordAge;
  const std::uint64_t since = rounds_within(age, known.times);
  if (round <= highest + since) return true;
  const Member* member = known.members.find(peer);
  return !was_heard && member && round <= member->round + ahead + since &&
         has_witnesses(known, peer, round);
}

}  // namespace

// An unlikely round may be a false number. It is believed if the peer's previous unlikely round was
// the same or up to kRoundsAhead turns earlier, and there are witnesses: after a step longer than
// all patience, a node cannot predict its neighbours' rounds. A likely round in between shows that
// the first was false.
bool RoundCheck::accepts(Time now, NodeId peer, std::uint64_t round) const {
  Neighbor* neighbor = neighbors.find(peer);
  if (is_likely(*this, now, neighbor, peer, round)) {
    if (neighbor && round > 0) neighbor->unlikely_round = 0;
    return true;
  }
  if (!neighbor) return false;
  const std::uint64_t before = std::exchange(neighbor->unlikely_round, round);
  const bool is_repeated = before > 0 && round >= before && round <= before + ahead_of(*this);
  if (is_repeated && round <= kRoundsMost && has_witnesses(*this, peer, round)) return true;
  ++neighbor->status.rejected["round"];
  return false;
}

}  // namespace starling::gossip
