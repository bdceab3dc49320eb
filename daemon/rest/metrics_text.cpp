#include "daemon/rest/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/rest/document.h"
#include "daemon/rest/page.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// One invalid byte of a name that came over the network would cost the whole scrape.
std::string valid_utf8(const std::string& text) {
  return nlohmann::json::parse(to_text(text)).get<std::string>();
}

// The families of one scrape, in the order in which they were first named. Those without a value
// are left out.
class Families {
 public:
  void gauge(const std::string& name, std::string help, std::optional<double> value = {}) {
    begin(MetricType::Gauge, name, std::move(help), value);
  }
  void counter(const std::string& name, std::string help, std::optional<double> value = {}) {
    begin(MetricType::Counter, name, std::move(help), value);
  }

  // A value of the family that was named last.
  void put(std::optional<double> value, Labels labels = {}) {
    if (!value || !std::isfinite(*value)) return;
    prometheus::MetricFamily& family = families_[current_];
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (family.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = *value;
    family.metric.push_back(std::move(metric));
  }

  std::string text() {
    std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
    const prometheus::Serializer& serializer = prometheus::TextSerializer();
    return serializer.Serialize(families_);
  }

 private:
  void begin(MetricType type, const std::string& name, std::string help,
             std::optional<double> value) {
    const auto found = std::ranges::find(families_, name, &prometheus::MetricFamily::name);
    current_ = static_cast<std::size_t>(found - families_.begin());
    if (found == families_.end())
      families_.push_back({.name = name, .help = std::move(help), .type = type, .metric = {}});
    put(value);
  }

  std::vector<prometheus::MetricFamily> families_;
  std::size_t current_ = 0;
};

void add_node(Families& families, const Snapshot& snapshot) {
  const Identity& identity = snapshot.identity;
  families.gauge("starling_node_info",
                 "Who the node is and what it runs; the value is always 1. Join it to other "
                 "series to show the name: starling_round * on (instance) group_left (node) "
                 "starling_node_info.");
  families.put(1, {{"node", valid_utf8(identity.name)},
                   {"algorithm", snapshot.status.algorithm},
                   {"schedule", snapshot.status.schedule},
                   {"topology", topology_kind_json(snapshot)["kind"].get<std::string>()}});
  families.gauge("starling_certificate_end_seconds",
                 "When the node's certificate ends, in seconds since 1970.");
  if (const auto& certificate = snapshot.security.certificate)
    families.put(static_cast<double>(certificate->not_after));
}

// ---- fields of documents

// The series of a field, as "x-metric" of /openapi.json names them: "gauge FAMILY", "counter FAMILY
// LABEL" or "counter FAMILY LABEL=VALUE", and after ": " what the family is, if not as the field.
// Without VALUE the label's values come from the field. A field of counts has a series for each of
// its keys. A field with a list of allowed values has a series for each of them: 1 for its present
// value, 0 for the others. Another text has one series, whose number is 1.
struct Series {
  std::string kind, family, help;
  std::string label = {}, value = {};
};

Series series_of(const json& field) {
  const auto words = field.at("x-metric").get<std::string>();
  const std::size_t end = words.find(": ");
  const std::vector<std::string> parts = split(words.substr(0, end), ' ');
  Series series{parts.at(0), parts.at(1),
                end == std::string::npos ? field.value("description", "") : words.substr(end + 2)};
  if (parts.size() < 3) return series;
  const std::size_t equals = parts[2].find('=');
  series.label = parts[2].substr(0, equals);
  if (equals != std::string::npos) series.value = parts[2].substr(equals + 1);
  return series;
}

// The number of a series: that of a field, or the length of a list.
std::optional<double> number_of(const json& value) {
  if (value.is_array()) return static_cast<double>(value.size());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

const json& openapi() {
  static const json document = json::parse(page_file("/openapi.json")->bytes);
  return document;
}

const json& resolved(const json& schema) {
  const auto reference = schema.find("$ref");
  if (reference == schema.end()) return schema;
  return openapi().at(json::json_pointer(reference->get<std::string>().substr(1)));
}

void add_series(Families& families, const json& field, const json& value, const Labels& labels) {
  if (value.is_null()) return;
  const Series series = series_of(field);
  series.kind == "counter" ? families.counter(series.family, series.help)
                           : families.gauge(series.family, series.help);
  const auto put = [&](std::optional<double> number, const std::string& label) {
    Labels all = labels;
    if (!series.label.empty()) all.push_back({series.label, valid_utf8(label)});
    families.put(number, std::move(all));
  };
  const json& schema = resolved(field);
  if (value.is_object())
    for (const auto& [key, number] : value.items()) put(number_of(number), key);
  else if (schema.contains("enum"))
    for (const json& choice : schema["enum"]) put(choice == value ? 1 : 0, choice);
  else if (value.is_string())
    put(1, value);
  else
    put(number_of(value), series.value);
}

// Adds the series of a document's fields, which the schema describes, and of the objects within.
void add_fields(Families& families, const json& schema, const json& document) {
  for (const auto& [name, field] : resolved(schema).at("properties").items()) {
    const auto value = document.find(name);
    if (value == document.end()) continue;
    if (field.contains("x-metric"))
      add_series(families, field, *value, {});
    else if (value->is_object() && resolved(field).contains("properties"))
      add_fields(families, field, *value);
  }
}

void add_events(Families& families, const EventCounts& events) {
  families.counter("starling_events_total",
                   "What happened to the node, by kind: members that joined, were suspected, "
                   "cleared of it, died or left, edges, problems. A member that is suspected and "
                   "cleared again and again has a bad network, or a machine that stalls.");
  for (std::size_t kind = 0; kind < events.size(); ++kind)
    families.put(static_cast<double>(events[kind]),
                 {{"kind", std::string(name(static_cast<gossip::Event::Kind>(kind)))}});
}

// ---- neighbours

constexpr const char* kOther = "other";

// The edges that one value of the label `neighbor` stands for: one, or all that are "other".
struct Neighbor {
  std::string label;
  std::vector<json> edges = {};
};

std::vector<Neighbor> neighbors(const Snapshot& snapshot) {
  std::vector<Neighbor> named;
  Neighbor other{kOther};
  std::set<std::string> taken = {other.label};
  json document = neighbors_json(snapshot);
  for (json& edge : document["neighbors"]) {
    std::string label = valid_utf8(edge["name"]);
    // Two series of the same labels would cost the scrape.
    if (named.size() < kNeighborSeriesLimit && taken.insert(label).second)
      named.push_back({std::move(label), {std::move(edge)}});
    else
      other.edges.push_back(std::move(edge));
  }
  if (!other.edges.empty()) named.push_back(std::move(other));
  return named;
}

// Of several edges the largest value counts, of a "gauge/least" the least. The others have no
// counters: those of a changing set would go back.
json value_of(const std::string& name, const std::string& kind, const Neighbor& neighbor) {
  if (kind == "counter")
    return neighbor.label == kOther ? json() : neighbor.edges.front().value(name, json());
  std::optional<double> found;
  for (const json& edge : neighbor.edges)
    if (const auto one = number(edge, name.c_str())) {
      const double before = found.value_or(*one);
      found = kind == "gauge/least" ? std::min(*one, before) : std::max(*one, before);
    }
  return found ? json(*found) : json();
}

void add_neighbors(Families& families, const std::vector<Neighbor>& neighbors) {
  const json& schema = openapi()["components"]["schemas"]["Neighbor"];
  for (const auto& [name, field] : schema["properties"].items()) {
    if (!field.contains("x-metric")) continue;
    const std::string kind = series_of(field).kind;
    for (const Neighbor& neighbor : neighbors)
      add_series(families, field, value_of(name, kind, neighbor), {{"neighbor", neighbor.label}});
  }
}

void add_edges(Families& families, std::span<const gossip::EdgeStatus> edges) {
  using gossip::EdgeState;
  families.gauge("starling_edges",
                 "Edges to neighbours: opening, active, late (not in time for the last rounds, "
                 "which went on without it) or refused (the two nodes do not agree on a key).");
  for (const auto state :
       {EdgeState::opening, EdgeState::active, EdgeState::late, EdgeState::refused})
    families.put(static_cast<double>(std::ranges::count(edges, state, &gossip::EdgeStatus::state)),
                 {{"state", std::string(gossip::name(state))}});
}

// ---- the fleet

struct QuantityFamily {
  gossip::Quantity quantity;
  const char *name, *meaning;
};
using gossip::Quantity;
constexpr std::array<QuantityFamily, gossip::kQuantities> kQuantityFamilies = {{
    {Quantity::loss, "starling_fleet_loss", "Training loss"},
    {Quantity::accuracy, "starling_fleet_accuracy_ratio",
     "Accuracy of the last evaluation, from 0 to 1"},
    {Quantity::round, "starling_fleet_round", "Rounds completed"},
    {Quantity::sample_rate, "starling_fleet_samples_per_second",
     "Samples a second of one node, lately"},
    {Quantity::byte_rate, "starling_fleet_sent_bytes_per_second",
     "Bytes sent a second by one node, lately"},
    {Quantity::compute_share, "starling_fleet_compute_ratio",
     "Share of the time spent computing, lately, from 0 to 1"},
}};
constexpr std::string_view kOfAllNodes =
    ": mean, least and most over all nodes, as this node estimates them by gossip, and the error "
    "that the mean may still have.";

void add_fleet(Families& families, const gossip::FleetStatus& fleet) {
  bool has_extremes = false;
  for (const QuantityFamily& family : kQuantityFamilies) {
    const auto& spread = fleet.spreads[static_cast<std::size_t>(family.quantity)];
    if (!spread) continue;
    families.gauge(family.name, std::string(family.meaning).append(kOfAllNodes));
    families.put(spread->mean, {{"estimate", "mean"}});
    families.put(spread->least, {{"estimate", "least"}});
    families.put(spread->most, {{"estimate", "most"}});
    families.put(spread->error, {{"estimate", "error"}});
    has_extremes = has_extremes || spread->least || spread->most;
  }
  families.gauge("starling_fleet_consensus_distance_ratio",
                 "Root mean square distance of all models from their mean, relative to it, as "
                 "this node estimates it by gossip.",
                 fleet.distance);
  if (fleet.distance)
    families.gauge("starling_fleet_consensus_distance_error_ratio",
                   "What starling_fleet_consensus_distance_ratio may still be off.",
                   fleet.distance_error);
  if (has_extremes)
    families.gauge("starling_fleet_extremes_age_seconds",
                   "Time since the smallest and the largest values of the fleet were taken.",
                   seconds(fleet.extremes_age));
  if (fleet.model_share > 0)
    families.gauge("starling_fleet_degraded_ratio",
                   "Share of the nodes that train which are degraded, from 0 to 1.",
                   fleet.degraded_share);
}

}  // namespace

std::string metrics_text(const Snapshot& snapshot, const EventCounts& events) {
  Families families;
  add_node(families, snapshot);
  add_fields(families, openapi()["components"]["schemas"]["Status"],
             status_json(snapshot, std::nullopt));
  add_events(families, events);
  add_edges(families, snapshot.status.edges);
  add_neighbors(families, neighbors(snapshot));
  add_fleet(families, snapshot.status.fleet);
  return families.text();
}

}  // namespace starling::daemon
