#include "gossip/report/series.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling::gossip {

void Series::add(Time now, const Progress& progress) {
  if (progress.round > last_.round) last_ = {.round = progress.round};
  if (progress.round == last_.round) add_to(last_, now, progress);
  while (place_of(progress.round) > kRoundsLimit) thin();
  const std::size_t place = place_of(progress.round);
  if (place >= rounds_.size()) rounds_.resize(place + 1);
  Round& held = rounds_[place];
  if (is_better(progress.round, progress.accuracy || progress.rmse, held))
    held = {.round = progress.round};
  if (progress.round == held.round) add_to(held, now, progress);
}

bool Series::is_better(std::uint64_t round, bool is_evaluated, const Round& held) {
  if (held.reports == 0) return true;
  if (round == held.round) return false;
  if (is_evaluated != held.is_evaluated()) return is_evaluated;
  return round > held.round;
}

void Series::add_to(Round& round, Time now, const Progress& progress) {
  ++round.reports;
  round.last = std::max(round.last, now);
  round.loss.add(progress.loss);
  round.accuracy.add(progress.accuracy);
  round.rmse.add(progress.rmse);
  round.squared_distance.add_square(progress.distance);
  round.squared_distance_to_optimum.add_square(progress.distance_to_optimum);
}

void Series::thin() {
  stride_ *= 2;
  std::vector<Round> kept(rounds_.size() / 2 + 1);
  for (Round& round : rounds_) {
    if (round.reports == 0) continue;
    Round& held = kept[place_of(round.round)];
    if (is_better(round.round, round.is_evaluated(), held)) held = round;
  }
  rounds_ = std::move(kept);
}

std::vector<SeriesPoint> Series::points() const {
  std::vector<SeriesPoint> points;
  for (const Round& round : rounds_)
    if (round.reports > 0) points.push_back(point(round));
  if (last_.reports > 0 && (points.empty() || points.back().round != last_.round))
    points.push_back(point(last_));
  return points;
}

SeriesPoint Series::point(const Round& round) {
  return {.round = round.round,
          .time_s = seconds(round.last),
          .loss = round.loss.mean(),
          .accuracy = round.accuracy.mean(),
          .rmse = round.rmse.mean(),
          .distance = round.squared_distance.root_mean(),
          .distance_to_optimum = round.squared_distance_to_optimum.root_mean()};
}

void Series::Sum::add(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  total += *value;
  ++count;
}

void Series::Sum::add_square(std::optional<double> value) {
  add(value ? std::optional(*value * *value) : std::nullopt);
}

std::optional<double> Series::Sum::mean() const {
  if (count == 0) return std::nullopt;
  return total / static_cast<double>(count);
}

std::optional<double> Series::Sum::root_mean() const {
  const auto squared = mean();
  return squared ? std::optional(std::sqrt(*squared)) : std::nullopt;
}

}  // namespace starling::gossip
