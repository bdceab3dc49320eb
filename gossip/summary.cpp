#include "gossip/summary.h"

#include <cmath>
#include <map>

namespace starling::gossip {
namespace {

// Of a value that some nodes may not have reported.
struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(const std::optional<double>& value) {
    if (value) sum += *value, ++count;
  }
  // Only of all nodes: a mean over some of them would jump from round to round.
  std::optional<double> of_all(std::size_t nodes) const {
    if (count != nodes) return std::nullopt;
    return sum / static_cast<double>(count);
  }
};

struct Sums {
  std::size_t nodes = 0;
  double time_s = 0;
  Mean loss, accuracy, rmse, distance, squared_distance_to_optimum;

  void add(const Progress& point) {
    ++nodes;
    time_s = std::max(time_s, point.time_s);
    loss.add(point.loss);
    accuracy.add(point.accuracy);
    rmse.add(point.rmse);
    distance.add(point.distance);
    const auto& to_optimum = point.distance_to_optimum;
    squared_distance_to_optimum.add(to_optimum ? std::optional(*to_optimum * *to_optimum)
                                               : std::nullopt);
  }
};

}  // namespace

std::vector<SeriesPoint> network_series(std::span<const std::vector<Progress>> nodes) {
  std::map<std::uint64_t, Sums> rounds;
  for (const std::vector<Progress>& node : nodes)
    for (const Progress& point : node) rounds[point.round].add(point);
  std::vector<SeriesPoint> series;
  for (const auto& [round, sums] : rounds) {
    if (sums.nodes != nodes.size()) continue;
    SeriesPoint point{round,
                      sums.time_s,
                      sums.loss.of_all(sums.nodes).value_or(0),
                      sums.accuracy.of_all(sums.nodes),
                      sums.rmse.of_all(sums.nodes),
                      sums.distance.of_all(sums.nodes),
                      sums.squared_distance_to_optimum.of_all(sums.nodes)};
    if (point.distance_to_optimum)
      point.distance_to_optimum = std::sqrt(*point.distance_to_optimum);
    series.push_back(point);
  }
  return series;
}

}  // namespace starling::gossip
