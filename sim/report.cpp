#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace starling::sim {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const char* name, std::optional<double> value) {
  if (value && std::isfinite(*value)) object[name] = *value;
}

Json to_json(const NodeSummary& node) {
  Json object = {{"name", node.name}, {"round", node.round}};
  put(object, "loss", node.loss);
  put(object, "accuracy", node.accuracy);
  put(object, "distance", node.distance);
  put(object, "distance_to_optimum", node.distance_to_optimum);
  object["sent_bytes"] = node.sent_bytes;
  return object;
}

Json to_json(const Point& point) {
  Json object = {{"round", point.round}, {"time_s", point.time_s}};
  put(object, "loss", point.loss);
  put(object, "accuracy", point.accuracy);
  put(object, "distance", point.distance);
  put(object, "distance_to_optimum", point.distance_to_optimum);
  return object;
}

Json to_json(const GoalSummary& goal) {
  Json object = {{"reached", goal.reached}, {"round", goal.round}};
  if (goal.wanted.rounds > 0) object["rounds"] = goal.wanted.rounds;
  if (goal.wanted.seconds > 0) object["seconds"] = goal.wanted.seconds;
  put(object, "loss", goal.wanted.loss);
  put(object, "accuracy", goal.wanted.accuracy);
  return object;
}

Json to_json(const MembersSummary& members) {
  return {{"alive", members.alive},
          {"suspect", members.suspect},
          {"dead", members.dead},
          {"left", members.left}};
}

template <class Items>
Json to_array(const Items& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(to_json(item));
  return array;
}

// Six figures, or a dash for what does not apply.
std::string figure(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

}  // namespace

std::string json(const Summary& summary, std::optional<double> wall_s) {
  Json object;
  object["nodes"] = to_array(summary.nodes);
  object["series"] = to_array(summary.series);
  object["goal"] = to_json(summary.goal);
  object["members"] = to_json(summary.members);
  put(object, "wall_s", wall_s);
  object["virtual_s"] = summary.virtual_s;
  object["seed"] = summary.seed;
  object["event_hash"] = fmt::format("{:016x}", summary.event_hash);
  if (!summary.violations.empty()) object["violations"] = summary.violations;
  return object.dump();
}

std::string table(const Summary& summary) {
  std::size_t width = 4;
  for (const NodeSummary& node : summary.nodes) width = std::max(width, node.name.size());
  std::string text = fmt::format("{:<{}} {:>8} {:>12} {:>9} {:>12} {:>12} {:>10}\n", "node", width,
                                 "round", "loss", "accuracy", "distance", "to optimum", "sent MB");
  const auto out = std::back_inserter(text);
  for (const NodeSummary& node : summary.nodes)
    fmt::format_to(out, "{:<{}} {:>8} {:>12} {:>9} {:>12} {:>12} {:>10.3f}\n", node.name, width,
                   node.round, figure(node.loss), figure(node.accuracy), figure(node.distance),
                   figure(node.distance_to_optimum), static_cast<double>(node.sent_bytes) / 1e6);
  fmt::format_to(out, "goal {} in round {}, {:.3f} s of virtual time\n",
                 summary.goal.reached ? "reached" : "not reached", summary.goal.round,
                 summary.virtual_s);
  fmt::format_to(out, "members: {} alive, {} suspect, {} dead, {} left\n", summary.members.alive,
                 summary.members.suspect, summary.members.dead, summary.members.left);
  fmt::format_to(out, "seed {}, {} events, event hash {:016x}\n", summary.seed, summary.events,
                 summary.event_hash);
  for (const std::string& violation : summary.violations)
    fmt::format_to(out, "VIOLATION {}\n", violation);
  return text;
}

}  // namespace starling::sim
