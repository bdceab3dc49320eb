#include "daemon/cli/ask/fleet_documents.h"

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/rest/document.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

void read_sentence(FleetView& view, const json& document, const json& status) {
  view.summary = document.value("summary", "");
  view.has_reasons = !part(part(status, "node"), "reasons").empty();
}

template <class Read>
Result<FleetView> understood(Read read) {
  try {
    return read();
  } catch (const json::exception& error) {
    return fail("the answer is not understood: {}", error.what());
  }
}

// "relay" for one that is alive.
std::string state_of(const json& member) {
  const std::string state = member.value("state", "");
  return state == "alive" ? member.value("role", state) : state;
}

}  // namespace

Result<FleetView> view_of_fleet(const json& fleet, const json& members, const json& status) {
  return understood([&] {
    FleetView view;
    read_sentence(view, fleet, status);
    view.samples_per_s = number(part(fleet, "samples_per_s"), "total");
    for (const json& member : part(members, "members"))
      view.nodes.push_back({.name = member.value("name", ""),
                            .state = state_of(member),
                            .round = member.value("round", std::uint64_t{0}),
                            .loss = number(member, "loss")});
    read_progress(part(status, "run"), view);
    return view;
  });
}

Result<FleetView> view_of_node(const json& status) {
  return understood([&] {
    FleetView view;
    read_sentence(view, status, status);
    const json& node = part(status, "node");
    const json& run = part(status, "run");
    const json& evaluation = part(run, "eval");
    view.nodes.push_back({.name = node.value("name", ""),
                          .state = node.value("state", ""),
                          .round = run.value("round", std::uint64_t{0}),
                          .loss = number(run, "loss"),
                          .accuracy = number(evaluation, "accuracy"),
                          .rmse = number(evaluation, "rmse"),
                          .distance = number(part(status, "consensus"), "distance")});
    read_progress(run, view);
    return view;
  });
}

std::optional<double> samples_of(const json& status) {
  const json& samples = part(part(status, "run"), "samples");
  return samples.is_number() ? std::optional(samples.get<double>()) : std::nullopt;
}

}  // namespace starling::daemon
