// Thinned: keeps a point for every round up to a limit, beyond it one for every two, four, …
// rounds, so that a series stays bounded. A point without evaluation never replaces one with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace starling {

// A Point has a `round` and says whether it is_evaluated().
template <class Point>
class Thinned {
 public:
  // Round 0 and ten thousand more.
  static constexpr std::size_t kPointsLimit = 10'001;

  // Calls write(point) for the points of that round that are kept: none, one or two. A new point
  // has only its round.
  template <class Write>
  void add(std::uint64_t round, bool is_evaluated, Write write) {
    if (!newest_ || round > newest_->round) newest_ = of_round(round);
    if (round == newest_->round) write(*newest_);
    if (Point* const kept = kept_of(round, is_evaluated)) write(*kept);
  }

  // The points from round `from` on, oldest first; the newest is always among them.
  std::vector<Point> points(std::uint64_t from = 0) const {
    std::vector<Point> points(std::ranges::lower_bound(points_, from, {}, &Point::round),
                              points_.end());
    const bool has_newest = !points.empty() && points.back().round == newest_->round;
    if (newest_ && newest_->round >= from && !has_newest) points.push_back(*newest_);
    return points;
  }

 private:
  static Point of_round(std::uint64_t round) {
    Point point{};
    point.round = round;
    return point;
  }
  static bool is_better(std::uint64_t round, bool is_evaluated, const Point& than) {
    return is_evaluated != than.is_evaluated() ? is_evaluated : round > than.round;
  }
  std::uint64_t place_of(std::uint64_t round) const { return (round + stride_ - 1) / stride_; }

  // The point of that round; null if its place keeps another round's point.
  Point* kept_of(std::uint64_t round, bool is_evaluated) {
    const auto place = [this](const Point& point) { return place_of(point.round); };
    while (true) {
      const auto found = std::ranges::lower_bound(points_, place_of(round), {}, place);
      if (found != points_.end() && place(*found) == place_of(round)) {
        if (found->round == round) return &*found;
        if (!is_better(round, is_evaluated, *found)) return nullptr;
        return &(*found = of_round(round));
      }
      if (points_.size() < kPointsLimit) return &*points_.insert(found, of_round(round));
      thin();
    }
  }

  void thin() {
    stride_ *= 2;
    std::vector<Point> kept;
    for (Point& point : points_) {
      if (kept.empty() || place_of(kept.back().round) != place_of(point.round))
        kept.push_back(std::move(point));
      else if (is_better(point.round, point.is_evaluated(), kept.back()))
        kept.back() = std::move(point);
    }
    points_ = std::move(kept);
  }

  std::uint64_t stride_ = 1;   // keeps one round in every stride_
  std::vector<Point> points_;  // ascending, one at a place
  std::optional<Point> newest_;
};

}  // namespace starling
