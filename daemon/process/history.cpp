#include "daemon/process/history.h"

#include <algorithm>

namespace starling::daemon {
namespace {

bool is_evaluated(const gossip::Progress& point) {
  return point.accuracy || point.rmse || point.evaluation_loss;
}

}  // namespace

void History::add(const gossip::Progress& point) {
  newest_ = point;
  any_ = true;
  put(points_, point);
  while (points_.size() > kPointsLimit) {
    stride_ *= 2;
    std::vector<gossip::Progress> kept;
    for (const gossip::Progress& old : points_) put(kept, old);
    points_ = std::move(kept);
  }
}

// Of the rounds of one stride the newest that was evaluated stays, or else the newest.
void History::put(std::vector<gossip::Progress>& points, const gossip::Progress& point) const {
  const auto stride_of = [this](std::uint64_t round) { return (round + stride_ - 1) / stride_; };
  if (points.empty() || stride_of(points.back().round) != stride_of(point.round))
    points.push_back(point);
  else if (is_evaluated(point) || !is_evaluated(points.back()))
    points.back() = point;
}

std::vector<gossip::Progress> History::from(std::uint64_t round) const {
  std::vector<gossip::Progress> points;
  std::ranges::copy_if(points_, std::back_inserter(points),
                       [round](const auto& point) { return point.round >= round; });
  if (any_ && newest_.round >= round && (points.empty() || points.back().round != newest_.round))
    points.push_back(newest_);
  return points;
}

}  // namespace starling::daemon
