#include "gossip/members/hold_up.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace starling::gossip {
namespace {

// Only members that wait for more than this percentage of their time vote. All waiting members are
// links of the chain: a member half as slow as the slowest waits for half of its time.
constexpr std::uint64_t kMostly = 50;

using ById = std::map<NodeId, const Member*>;

// The end of the chain; null if it is a circle, or ends at a member that is gone or does not train.
const Member* end_of_chain(const Member* member, const ById& members) {
  for (std::size_t steps = 0; steps < members.size(); ++steps) {
    if (member->phase != Phase::training) return nullptr;
    if (member->held.percent == 0) return member;
    const auto next = members.find(member->held.by);
    if (next == members.end()) return nullptr;
    member = next->second;
  }
  return nullptr;
}

}  // namespace

std::optional<HoldUp> hold_up_among(const std::vector<const Member*>& present) {
  const auto waits = [](const Member* member) { return member->held.percent > kMostly; };
  if (std::ranges::none_of(present, waits)) return std::nullopt;
  ById members;
  for (const Member* member : present) members.emplace(member->id, member);
  struct Cause {
    std::size_t waiting = 0;
    std::uint64_t percent = 0;
    const Member* member = nullptr;
  };
  std::map<NodeId, Cause> causes;
  for (const Member* member : present) {
    if (!waits(member)) continue;
    const Member* end = end_of_chain(member, members);
    if (!end) continue;
    Cause& cause = causes[end->id];
    cause = {cause.waiting + 1, std::max(cause.percent, member->held.percent), end};
  }
  if (causes.empty()) return std::nullopt;
  const Cause& most = std::ranges::max_element(causes, {}, [](const auto& item) {
                        return std::tuple(item.second.waiting, item.second.percent);
                      })->second;
  return HoldUp{most.member->id, most.member->name, most.percent};
}

std::string text_of(const HoldUp& hold_up, NodeId self) {
  return fmt::format("{} holds up the others: {} % of the rounds' time",
                     hold_up.id == self ? "this node" : hold_up.name, hold_up.percent);
}

}  // namespace starling::gossip
