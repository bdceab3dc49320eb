#include "daemon/cli/ask/export_text.h"

#include <array>
#include <cstdint>

#include "daemon/cli/ask/event_file.h"
#include "daemon/rest/csv_rows.h"
#include "daemon/rest/document.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::array kEventColumns = {"sequence", "time_s", "at", "kind", "text"};
// What is drawn over rounds.
constexpr std::array kCurves = {"loss", "accuracy", "rmse", "distance", "distance_to_optimum",
                                "bytes"};

// The objects of the list `name`; none where the document was not asked for.
Result<std::vector<json>> objects_of(const json& document, const char* name) {
  if (document.is_null()) return std::vector<json>();
  const auto list = document.is_object() ? document.find(name) : document.end();
  if (list == document.end() || !list->is_array())
    return fail("the answer has no list \"{}\"; expected a node of starling there", name);
  std::vector<json> objects;
  for (const json& object : *list)
    if (object.is_object()) objects.push_back(object);
  return objects;
}

double number_in(const json& object, const char* name) {
  const auto value = object.find(name);
  return value != object.end() && value->is_number() ? value->get<double>() : 0;
}

// Seconds from the start of the process to that of the training. The event may be gone from the
// log of a node that runs for long: then the two count as one.
double training_start(std::span<const json> events) {
  for (const json& event : events)
    if (const auto kind = event.find("kind"); kind != event.end() && *kind == "started")
      return number_in(event, "time_s");
  return 0;
}

void put_jsonl(std::string& text, const char* record, const std::string& node,
               std::span<const json> objects) {
  for (json object : objects) {
    object["record"] = record;
    object["node"] = node;
    text.append(to_text(object)).append("\n");
  }
}

}  // namespace

Result<NodeExport> read_export(const json& status, const json& convergence, const json& events,
                               double now) {
  const json& about = part(status, "node");
  const json &name = part(about, "name"), &uptime = part(about, "uptime_s");
  if (!name.is_string() || !uptime.is_number())
    return fail("the answer has no node.name and node.uptime_s; expected a node of starling there");
  NodeExport node;
  node.name = name.get<std::string>();
  TRY(node.series, objects_of(convergence, "series"));
  TRY(node.events, objects_of(events, "events"));
  node.started = now - uptime.get<double>() + training_start(node.events);
  return node;
}

std::string convergence_csv(std::span<const NodeExport> nodes) {
  std::string text = csv_header(kPointColumns);
  for (const NodeExport& node : nodes) put_csv_rows(text, node.name, node.series, kPointColumns);
  return text;
}

std::string events_csv(std::span<const NodeExport> nodes) {
  std::string text = csv_header(kEventColumns);
  for (const NodeExport& node : nodes) put_csv_rows(text, node.name, node.events, kEventColumns);
  return text;
}

std::string export_jsonl(std::span<const NodeExport> nodes) {
  std::string text;
  for (const NodeExport& node : nodes) {
    put_jsonl(text, "convergence", node.name, node.series);
    put_jsonl(text, "event", node.name, node.events);
  }
  return text;
}

std::string export_tensorboard(const NodeExport& node) {
  EventFile file(node.started);
  for (const json& point : node.series)
    for (const char* curve : kCurves)
      if (const auto value = point.find(curve); value != point.end() && value->is_number())
        file.add(node.started + number_in(point, "time_s"),
                 static_cast<std::int64_t>(number_in(point, "round")), curve, value->get<double>());
  return file.bytes();
}

}  // namespace starling::daemon
