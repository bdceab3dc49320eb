#include "daemon/cli/up/fleet_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace starling::daemon {
namespace {

constexpr std::size_t kNamesLimit = 8;  // in a line

}  // namespace

std::string enumerate(std::span<const std::string> names) {
  if (names.size() == 1) return names[0];
  const bool are_many = names.size() > kNamesLimit;
  const std::size_t shown = are_many ? kNamesLimit : names.size() - 1;
  const std::string last =
      are_many ? fmt::format("{} more", names.size() - shown) : std::string(names.back());
  return fmt::format("{} and {}", fmt::join(names.first(shown), ", "), last);
}

void FleetNotices::hear(Time now, const std::string& node, std::span<const std::string> texts) {
  for (const std::string& text : by_node_[node].take_new(now, texts)) {
    const std::string key = without_measures(text);
    const auto same = std::ranges::find(pending_, key, &Pending::key);
    if (same == pending_.end())
      pending_.push_back({key, text, {node}});
    else if (std::ranges::find(same->nodes, node) == same->nodes.end())
      same->nodes.push_back(node);
  }
}

std::vector<std::string> FleetNotices::take_due(Time now) {
  std::erase_if(told_, [now](const auto& item) { return now - item.second >= kGatherFor; });
  std::vector<std::string> lines;
  std::erase_if(pending_, [&](const Pending& pending) {
    if (!told_.try_emplace(pending.key, now).second) return false;
    lines.push_back(fmt::format("{}: {}", enumerate(pending.nodes), pending.text));
    return true;
  });
  return lines;
}

std::vector<std::string> FleetNotices::take_all() {
  told_.clear();
  return take_due(Time{});
}

}  // namespace starling::daemon
