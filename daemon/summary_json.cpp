#include "daemon/summary_json.h"

#include <nlohmann/json.hpp>

namespace starling::daemon {
namespace {

using nlohmann::json;

void put(json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = *value;
}

template <class T>
void put_results(json& object, const T& from) {
  object["loss"] = from.loss;
  put(object, "accuracy", from.accuracy);
  put(object, "rmse", from.rmse);
  put(object, "distance", from.distance);
  put(object, "distance_to_optimum", from.distance_to_optimum);
}

}  // namespace

json summary_json(std::span<const gossip::NodeSummary> nodes,
                  std::span<const gossip::SeriesPoint> series) {
  json document = {{"nodes", json::array()}, {"series", json::array()}};
  for (const gossip::NodeSummary& node : nodes) {
    json entry = {{"name", node.name}, {"round", node.round}, {"sent_bytes", node.sent_bytes}};
    put_results(entry, node);
    document["nodes"].push_back(std::move(entry));
  }
  for (const gossip::SeriesPoint& point : series) {
    json entry = {{"round", point.round}, {"time_s", point.time_s}};
    put_results(entry, point);
    document["series"].push_back(std::move(entry));
  }
  return document;
}

}  // namespace starling::daemon
