#include "daemon/cli/fleet_documents.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

const json& child(const json& object, const char* key) {
  static const json kNone = json::object();
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::optional<double> figure(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

void read_sentence(FleetView& view, const json& document, const json& status) {
  view.summary = document.value("summary", "");
  view.has_reasons = !child(child(status, "node"), "reasons").empty();
  view.remaining_s = figure(child(status, "run"), "remaining_s");
}

// The value of a key of /v1/config.
std::optional<double> setting(const json& config, const char* key) {
  const json& entry = child(config, key);
  if (!entry.is_object() || !child(entry, "value").is_string()) return std::nullopt;
  return parse_number(entry["value"].get_ref<const std::string&>());
}

template <class Read>
Result<FleetView> understood(Read read) {
  try {
    return read();
  } catch (const json::exception& error) {
    return fail("the answer is not understood: {}", error.what());
  }
}

}  // namespace

Result<FleetView> view_of_fleet(const json& fleet, const json& members, const json& status) {
  return understood([&] {
    FleetView view;
    read_sentence(view, fleet, status);
    view.samples_per_s = figure(child(fleet, "samples_per_s"), "total");
    for (const json& member : child(members, "members"))
      view.nodes.push_back({.name = member.value("name", ""),
                            .state = member.value("state", ""),
                            .round = member.value("round", std::uint64_t{0}),
                            .loss = figure(member, "loss")});
    return view;
  });
}

Result<FleetView> view_of_node(const json& status) {
  return understood([&] {
    FleetView view;
    read_sentence(view, status, status);
    const json& node = child(status, "node");
    const json& run = child(status, "run");
    const json& evaluation = child(run, "eval");
    view.nodes.push_back({.name = node.value("name", ""),
                          .state = node.value("state", ""),
                          .round = run.value("round", std::uint64_t{0}),
                          .loss = figure(run, "loss"),
                          .accuracy = figure(evaluation, "accuracy"),
                          .rmse = figure(evaluation, "rmse"),
                          .distance = figure(child(status, "consensus"), "distance")});
    return view;
  });
}

std::optional<double> samples_of(const json& status) {
  const json& samples = child(child(status, "run"), "samples");
  return samples.is_number() ? std::optional(samples.get<double>()) : std::nullopt;
}

gossip::Goal goal_of(const json& config) {
  gossip::Goal goal;
  const double rounds = setting(config, "stop.rounds").value_or(0);
  if (rounds > 0 && rounds < 1e18) goal.rounds = static_cast<std::uint64_t>(rounds);
  goal.loss = setting(config, "stop.loss");
  goal.accuracy = setting(config, "stop.accuracy");
  return goal;
}

}  // namespace starling::daemon
