#include "gossip/members/fanout_view.h"

#include <algorithm>
#include <utility>

namespace starling::gossip {
namespace {

constexpr std::size_t kSize = 12;
constexpr std::size_t kFanout = 3;  // members in one sending
constexpr double kTurnover = 0.1;   // chance that choose() first replaces the oldest member

}  // namespace

void FanoutView::meet(NodeId newcomer, std::size_t others, Prng& prng) {
  if (members_.size() < kSize) return;  // choose() fills the view
  if (const std::size_t place = prng.below(others); place < kSize) {
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
    members_.push_back(newcomer);
  }
}

std::vector<NodeId> FanoutView::choose(std::span<const NodeId> others, Prng& prng,
                                       std::size_t burden) {
  const std::size_t size = kSize * burden;
  const auto is_present = [&](NodeId id) { return std::ranges::find(others, id) != others.end(); };
  std::erase_if(members_, [&](NodeId id) { return !is_present(id); });
  if (members_.size() >= size && prng.chance(kTurnover)) members_.erase(members_.begin());
  if (members_.size() < size) widen(others, size, prng);
  std::vector<NodeId> chosen = members_;
  prng.shuffle(std::span(chosen));
  chosen.resize(std::min(chosen.size(), kFanout * burden));
  return chosen;
}

void FanoutView::widen(std::span<const NodeId> others, std::size_t size, Prng& prng) {
  std::vector<NodeId> strangers;
  for (const NodeId id : others)
    if (std::ranges::find(members_, id) == members_.end()) strangers.push_back(id);
  while (members_.size() < size && !strangers.empty()) {
    std::swap(strangers[prng.below(strangers.size())], strangers.back());
    members_.push_back(strangers.back());
    strangers.pop_back();
  }
}

}  // namespace starling::gossip
