// Exchange: which round numbers it believes. One false number must not make all nodes jump ahead.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "gossip/edges/exchange.h"

namespace starling::gossip {
namespace {

// A neighbour's round is likely if it is at most this many rounds above all known rounds, plus one
// for every 1/kRoundShare of this node's shortest round since the neighbour was heard.
constexpr std::uint64_t kRoundsAhead = 64;
constexpr int kRoundShare = 8;
constexpr Duration kRoundLeast = std::chrono::microseconds(20);
// Above this no round is believed, so that rounds never reach the limit of a message.
constexpr std::uint64_t kRoundsMost = kRoundLimit / 2;
// How old the members' table is taken to be where it tells the round of a neighbour not heard yet.
constexpr Duration kRecordAge = std::chrono::seconds(5);

}  // namespace

// Known are this node's round, the rounds of its neighbours and, for a peer not heard yet, the
// round in the members' table.
bool Exchange::is_likely(Time now, const Round& message, NodeId peer, const Roster& members) const {
  std::uint64_t known = round();
  for (const auto& [id, neighbor] : neighbors_) known = std::max(known, neighbor.round);
  if (PLANTED(believes_any_round)) return true;
  if (message.round > kRoundsMost) return false;
  if (message.round <= known + kRoundsAhead) return true;
  const auto found = neighbors_.find(peer);
  const bool was_heard = found != neighbors_.end() && found->second.round > 0;
  if (const Member* member = members.find(peer); member && !was_heard)
    known = std::max(known, member->round);
  const Duration age = was_heard ? now - found->second.heard : kRecordAge;
  if (!waits_.rounds().is_measured()) return message.round <= known + kRoundsAhead;
  const Duration shortest = std::max(waits_.rounds().least() / kRoundShare, kRoundLeast);
  return message.round <= known + kRoundsAhead + static_cast<std::uint64_t>(age / shortest);
}

// Whether another one, a neighbour or a member by its record, says that it is about as far ahead of
// this node. Records are seconds old, so half as far will do. Where no other one has a model, or
// the rounds of different nodes are unrelated and lead nobody on, none is needed.
bool Exchange::has_witness(const Round& message, NodeId peer, const Roster& members) const {
  if (scheduler_->rules().rounds_in_step == 0) return true;
  std::uint64_t witness = round();
  bool is_possible = false;
  for (const auto& [id, neighbor] : neighbors_)
    if (id != peer) witness = std::max({witness, neighbor.round, neighbor.unlikely_round});
  for (const Member* member : members.ready()) {
    if (member->id == peer || member->id == members.self()) continue;
    is_possible = true;
    witness = std::max(witness, member->round);
  }
  return !is_possible || message.round - round() <= kRoundsAhead + 2 * (witness - round());
}

// The time of a round, as this node or two of its neighbours have it.
Duration Exchange::pace() const {
  std::vector<Duration> usual;
  for (const auto& [id, neighbor] : neighbors_)
    if (neighbor.patience.usual() > Duration{}) usual.push_back(neighbor.patience.usual());
  std::ranges::sort(usual);
  const Duration own = waits_.rounds().is_measured() ? waits_.rounds().least() : Duration{};
  return usual.empty() ? own : std::min(own, usual[std::min<std::size_t>(1, usual.size() - 1)]);
}

// One unlikely round may be a false number. If the peer's next unlikely round is the same or a
// little later, and there is a witness, it is believed: a node whose steps take longer than all
// patience cannot predict how far its neighbours went on meanwhile. A likely round in between shows
// that the first was false.
bool Exchange::believes(Time now, const Round& message, NodeId peer, const Roster& members) {
  const auto found = neighbors_.find(peer);
  if (is_likely(now, message, peer, members)) {
    if (found != neighbors_.end() && message.round > 0) found->second.unlikely_round = 0;
    return true;
  }
  if (found == neighbors_.end()) return false;
  const std::uint64_t before = std::exchange(found->second.unlikely_round, message.round);
  const bool is_repeated =
      before > 0 && message.round >= before && message.round <= before + kRoundsAhead;
  if (is_repeated && message.round <= kRoundsMost && has_witness(message, peer, members))
    return true;
  ++found->second.rejected["round"];
  return false;
}

}  // namespace starling::gossip
