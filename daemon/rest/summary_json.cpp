#include "daemon/rest/summary_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put_results(Json& object, const T& from) {
  put(object, "loss", from.loss);
  put(object, "accuracy", from.accuracy);
  put(object, "rmse", from.rmse);
  put(object, "distance", from.distance);
  put(object, "distance_to_optimum", from.distance_to_optimum);
}

Json to_json(const gossip::NodeSummary& node) {
  Json object = {{"name", node.name}, {"round", node.round}};
  put_results(object, node);
  if (node.sent_bytes) object["sent_bytes"] = *node.sent_bytes;
  if (node.held_out) put(object, "auc", node.held_out->area);
  if (node.held_out && node.held_out->rare)
    object["rare"] = {{"class", node.held_out->rare->name},
                      {"rows", node.held_out->rare->rows},
                      {"found", node.held_out->rare->found}};
  if (!node.alone) return object;
  Json& alone = object["alone"];
  put(alone, "accuracy", node.alone->accuracy);
  put(alone, "rmse", node.alone->rmse);
  put(alone, "auc", node.alone->area);
  return object;
}

Json to_json(const gossip::SeriesPoint& point) {
  Json object = {{"round", point.round}, {"time_s", point.time_s}};
  put_results(object, point);
  put(object, "held_out_loss", point.held_out_loss);
  put(object, "bytes", point.bytes);
  return object;
}

Json to_json(const gossip::GoalSummary& goal) {
  Json object = {{"reached", goal.reached}, {"reason", goal.reason}, {"round", goal.round}};
  for (const gossip::GoalRow& row : gossip::goal_rows())
    if (const std::optional<double> wanted = row.wanted(goal.wanted))
      object[std::string(row.key.substr(row.key.find('.') + 1))] = *wanted;
  put(object, goal.model);
  return object;
}

Json to_json(const gossip::Breach& breach) {
  return {
      {"law", breach.law}, {"time_s", breach.time_s}, {"node", breach.node}, {"text", breach.text}};
}

template <class Items>
Json to_array(const Items& items);

Json to_json(const gossip::TraceRecord& record) {
  return {{"time_s", record.time_s}, {"nodes", to_array(record.nodes)}};
}

template <class Items>
Json to_array(const Items& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(to_json(item));
  return array;
}

}  // namespace

Json summary_json(const gossip::Summary& summary) {
  Json object;
  object["nodes"] = to_array(summary.nodes);
  object["series"] = to_array(summary.series);
  if (!summary.trace.empty()) object["trace"] = to_array(summary.trace);
  object["goal"] = to_json(summary.goal);
  const gossip::MembersSummary& members = summary.members;
  object["members"] = {{"alive", members.alive},
                       {"suspect", members.suspect},
                       {"dead", members.dead},
                       {"left", members.left}};
  put(object, "wall_s", summary.wall_s);
  put(object, "virtual_s", summary.virtual_s);
  if (summary.seed) object["seed"] = *summary.seed;
  // As text: a JSON number does not hold 64 bits.
  if (summary.event_hash) object["event_hash"] = fmt::format("{:016x}", *summary.event_hash);
  if (!summary.violations.empty()) object["violations"] = to_array(summary.violations);
  return object;
}

}  // namespace starling::daemon
