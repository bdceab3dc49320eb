#include "gossip/report/series.h"

#include <algorithm>
#include <cmath>

namespace starling::gossip {

void Series::add(Time now, const Progress& progress) {
  rounds_.add(progress.round, progress.is_evaluated(),
              [&](Round& round) { add_to(round, now, progress); });
}

void Series::add_to(Round& round, Time now, const Progress& progress) {
  round.last = std::max(round.last, now);
  round.loss.add(progress.loss);
  round.held_out_loss.add(progress.evaluation_loss);
  round.accuracy.add(progress.accuracy);
  round.rmse.add(progress.rmse);
  round.bytes.add(static_cast<double>(progress.bytes));
  round.squared_distance.add_square(progress.distance);
  round.squared_distance_to_optimum.add_square(progress.distance_to_optimum);
}

std::vector<SeriesPoint> Series::points() const {
  std::vector<SeriesPoint> points;
  for (const Round& round : rounds_.points()) points.push_back(point(round));
  return points;
}

SeriesPoint Series::point(const Round& round) {
  return {.round = round.round,
          .time_s = seconds(round.last),
          .loss = round.loss.mean(),
          .held_out_loss = round.held_out_loss.mean(),
          .accuracy = round.accuracy.mean(),
          .rmse = round.rmse.mean(),
          .distance = round.squared_distance.root_mean(),
          .distance_to_optimum = round.squared_distance_to_optimum.root_mean(),
          .bytes = round.bytes.mean()};
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
