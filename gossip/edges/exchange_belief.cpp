// Exchange: which rounds it believes. A wrong number must not lead everybody astray.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "gossip/edges/exchange.h"

namespace starling::gossip {
namespace {

// A neighbour is believed to be at most so many rounds ahead of all that is known, and one more for
// each kRoundShare-th part of the shortest round of this node since the neighbour was heard.
constexpr std::uint64_t kRoundsAhead = 64;
constexpr int kRoundShare = 8;
constexpr Duration kRoundLeast = std::chrono::microseconds(20);
// How old at most the round is that the members' table tells of a neighbour that was not heard yet.
constexpr Duration kRecordAge = std::chrono::seconds(5);

}  // namespace

// What is known: this node's own round, those of its neighbours and, of one that was not heard yet,
// what the members' table says.
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

// The round of one message may be a wrong number; where the next message that is as far off says
// about the same, it is so. A node whose steps take longer than all patience cannot expect the
// rounds that its neighbours go on to meanwhile.
bool Exchange::believes(Time now, const Round& message, NodeId peer, const Roster& members) {
  if (is_likely(now, message, peer, members)) return true;
  const auto found = neighbors_.find(peer);
  if (found == neighbors_.end()) return false;
  const std::uint64_t before = std::exchange(found->second.unlikely_round, message.round);
  if (before > 0 && message.round >= before && message.round <= before + kRoundsAhead) return true;
  ++found->second.rejected["round"];
  return false;
}

}  // namespace starling::gossip
