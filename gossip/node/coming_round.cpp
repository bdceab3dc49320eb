#include "gossip/node/coming_round.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "gossip/io.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {
namespace {

// The time after which all nodes know what one of them told: so many news periods, and where these
// are short, what nodes need that share a busy machine.
constexpr int kSpreads = 20;
constexpr Duration kSpreadLeast = std::chrono::seconds(2);

}  // namespace

std::uint64_t coming_round(const Roster& members, std::uint64_t own, double rounds_per_s,
                           const Timing& timing) {
  const double ahead = rounds_per_s * seconds(std::max(kSpreads * timing.news, kSpreadLeast));
  return std::min(furthest_round(members, own) + 2 + static_cast<std::uint64_t>(ahead),
                  kRoundLimit);
}

std::uint64_t furthest_round(const Roster& members, std::uint64_t own) {
  std::uint64_t furthest = own;
  for (const Member* member : members.present())
    furthest = std::max(furthest, std::min(member->round, own + own / 8 + 64));
  return furthest;
}

std::uint64_t reached_round(const Roster& members, std::size_t liars) {
  std::vector<std::uint64_t> rounds;
  for (const Member* member : members.ready())
    if (member->id != members.self()) rounds.push_back(member->round);
  if (rounds.empty()) return 0;
  std::ranges::sort(rounds, std::greater());
  return rounds[std::min(liars, rounds.size() - 1)];
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
