#include "daemon/history.h"

#include <algorithm>

namespace starling::daemon {

void History::add(const gossip::Progress& point) {
  newest_ = point;
  any_ = true;
  if (point.round % stride_ != 0) return;
  points_.push_back(point);
  while (points_.size() > kPointsLimit) {
    stride_ *= 2;
    std::erase_if(points_, [this](const auto& kept) { return kept.round % stride_ != 0; });
  }
}

std::vector<gossip::Progress> History::since(std::uint64_t round) const {
  std::vector<gossip::Progress> points;
  std::ranges::copy_if(points_, std::back_inserter(points),
                       [round](const auto& point) { return point.round > round; });
  if (any_ && newest_.round > round && (points.empty() || points.back().round != newest_.round))
    points.push_back(newest_);
  return points;
}

}  // namespace starling::daemon
