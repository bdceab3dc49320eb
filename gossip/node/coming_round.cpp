#include "gossip/node/coming_round.h"

#include <algorithm>

#include "gossip/io.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {
namespace {

// The news periods after which all nodes know what one of them told.
constexpr int kSpreads = 20;

}  // namespace

std::uint64_t coming_round(const Roster& members, std::uint64_t own, double rounds_per_s,
                           const Timing& timing) {
  const double ahead = rounds_per_s * kSpreads * seconds(timing.news);
  return std::min(furthest_round(members, own) + 2 + static_cast<std::uint64_t>(ahead),
                  kRoundLimit);
}

std::uint64_t furthest_round(const Roster& members, std::uint64_t own) {
  std::uint64_t furthest = own;
  for (const Member* member : members.present())
    furthest = std::max(furthest, std::min(member->round, own + own / 8 + 64));
  return furthest;
}

std::uint64_t believable_round(const Roster& members, std::uint64_t own) {
  std::uint64_t highest = 0, second = 0;
  for (const Member* member : members.ready()) {
    second = std::max(second, std::min(highest, member->round));
    highest = std::max(highest, member->round);
  }
  return std::max(second, own) + kFarthestAhead;
}

}  // namespace starling::gossip
