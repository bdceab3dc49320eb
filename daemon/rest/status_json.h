// Status as JSON: the documents of /v1/status, members, neighbors, topology and convergence, with
// the names the interface promises. Missing and non-finite values are left out.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "daemon/process/board.h"

namespace starling::daemon {

// `second_modulus` is that of the snapshot's graph, if known: 1 - spectral_gap. `mixing_rate` is
// the expected factor of a round on disagreement.
nlohmann::json status_json(const Snapshot& snapshot, std::optional<double> second_modulus,
                           std::optional<double> mixing_rate = {});
// Why what the node has at its end is not what was asked for, whether it reached its goal or not;
// empty: nothing is known.
std::string fault_of(const Snapshot& snapshot);
// {kind, chosen}: the setting, and what auto chose for the members that are known.
nlohmann::json topology_kind_json(const Snapshot& snapshot);
// {"members": […]} by name.
nlohmann::json members_json(const Snapshot& snapshot);
// {"neighbors": […]} by name.
nlohmann::json neighbors_json(const Snapshot& snapshot);
// {"nodes": [{id, name}], "edges": [{from, to, weight}], "directed", "connected", "spectral_gap"}.
// Edges are between names and sorted; an undirected one appears once. `graph` is that of the
// snapshot's topology; null if there is none yet.
nlohmann::json topology_json(const Snapshot& snapshot, const topology::Graph* graph,
                             std::optional<double> second_modulus);
std::string topology_dot(const Snapshot& snapshot, const topology::Graph* graph);
// {round, time_s, loss, …}; what is not known is absent.
nlohmann::json point_json(const gossip::Progress& point);
// {"series": […], "fleet": […]} by round.
nlohmann::json convergence_json(std::span<const gossip::Progress> series,
                                std::span<const FleetPoint> fleet = {});

// {sequence, time_s, kind, text}
nlohmann::json event_json(const LoggedEvent& event);
// {"events": […]} in order.
nlohmann::json events_json(std::span<const LoggedEvent> events);

// Where there is a value that is finite.
template <class Json>
void put(Json& object, const char* name, std::optional<double> value) {
  if (value && std::isfinite(*value)) object[name] = *value;
}

// {model, nodes, kept_round}, if there is such a model. The hash is text: no JSON number holds 64
// bits.
template <class Json>
void put(Json& object, const gossip::EndModel& model) {
  if (model.hash == 0) return;
  object["model"] = fmt::format("{:016x}", model.hash);
  object["nodes"] = model.nodes;
  if (model.round > 0) object["kept_round"] = model.round;
}

// One line of UTF-8; invalid bytes are replaced.
std::string to_text(const nlohmann::json& document);

}  // namespace starling::daemon
