// Exchange: which round numbers it believes. One false number must not make all nodes jump ahead.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "gossip/edges/exchange.h"

namespace starling::gossip {
namespace {

// A neighbour's round is likely if it is at most this many rounds above all known rounds, plus one
// for every 1/kRoundShare of this node's shortest round since the neighbour was heard.
constexpr std::uint64_t kRoundsAhead = 64;
constexpr int kRoundShare = 8;
constexpr Duration kRoundLeast = std::chrono::microseconds(20);
// How old the members' table is taken to be where it tells the round of a neighbour not heard yet.
constexpr Duration kRecordAge = std::chrono::seconds(5);

}  // namespace

// Known are this node's round, the rounds of its neighbours and, for a peer not heard yet, the
// round in the members' table.
bool Exchange::is_likely(Time now, const Round& message, NodeId peer, const Roster& members) const {
  std::uint64_t known = round_;
  for (const auto& [id, neighbor] : neighbors_) known = std::max(known, neighbor.round);
  if (message.round <= known + kRoundsAhead || PLANTED(believes_any_round)) return true;
  const auto found = neighbors_.find(peer);
  const bool was_heard = found != neighbors_.end() && found->second.round > 0;
  if (const Member* member = members.find(peer); member && !was_heard)
    known = std::max(known, member->round);
  const Duration age = was_heard ? now - found->second.heard : kRecordAge;
  const Duration shortest =
      waits_.rounds().is_measured() ? waits_.rounds().least() / kRoundShare : kRoundLeast;
  return message.round <=
         known + kRoundsAhead + static_cast<std::uint64_t>(age / std::max(shortest, kRoundLeast));
}

// One unlikely round may be a false number. If the peer's next unlikely round is the same or a
// little later, it is believed: a node whose steps take longer than all patience cannot predict how
// far its neighbours went on meanwhile. A likely round in between shows that the first was false.
bool Exchange::believes(Time now, const Round& message, NodeId peer, const Roster& members) {
  const auto found = neighbors_.find(peer);
  if (is_likely(now, message, peer, members)) {
    if (found != neighbors_.end() && message.round > 0) found->second.unlikely_round = 0;
    return true;
  }
  if (found == neighbors_.end()) return false;
  const std::uint64_t before = std::exchange(found->second.unlikely_round, message.round);
  if (before > 0 && message.round >= before && message.round <= before + kRoundsAhead) return true;
  ++found->second.rejected["round"];
  return false;
}

}  // namespace starling::gossip
