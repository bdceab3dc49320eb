#include "daemon/rest/fleet_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "base/utc.h"
#include "daemon/rest/status_json.h"
#include "gossip/report/sentence.h"
#include "gossip/trust/certificate.h"

namespace starling::daemon {
namespace {

using gossip::Quantity;
using nlohmann::json;

json spread_json(const gossip::FleetStatus& fleet, Quantity quantity) {
  const auto& spread = fleet.spreads[static_cast<std::size_t>(quantity)];
  if (!spread || !std::isfinite(spread->mean)) return nullptr;
  json object = {{"mean", spread->mean}, {"error", spread->error}};
  if (spread->least) object["min"] = *spread->least;
  if (spread->most) object["max"] = *spread->most;
  if (spread->mean_then) object["mean_then"] = *spread->mean_then;
  return object;
}

// A mean over the training nodes, and their total.
json rate_json(const gossip::FleetStatus& fleet, Quantity quantity, std::size_t nodes) {
  json object = spread_json(fleet, quantity);
  if (!object.is_null())
    object["total"] = object["mean"].get<double>() * static_cast<double>(nodes);
  return object;
}

// How many of the nodes that are there have a certificate, and which ends first; null: none has.
json certificates_json(const std::vector<gossip::MemberStatus>& members) {
  std::size_t nodes = 0;
  std::pair<std::uint64_t, std::string> first{std::numeric_limits<std::uint64_t>::max(), ""};
  for (const gossip::MemberStatus& status : members) {
    const auto& [certificate, name] = std::tie(status.member->certificate, status.member->name);
    const auto found = gossip::decode_certificate(std::as_bytes(std::span(certificate)));
    if (!status.is_present() || !found) continue;
    ++nodes;
    first = std::min(first, {found->not_after, name});
  }
  if (nodes == 0) return nullptr;
  return {{"nodes", nodes}, {"first", first.second}, {"until", utc_text(first.first)}};
}

}  // namespace

json fleet_json(const Snapshot& snapshot) {
  const gossip::Status& status = snapshot.status;
  const gossip::FleetStatus& fleet = status.fleet;
  std::vector<gossip::MemberStatus> with_data = status.members;
  std::erase_if(with_data, [](const auto& one) { return is_relay(one.member); });
  const auto in = [&](gossip::Phase phase) { return count_in(with_data, phase); };
  const std::size_t training = in(gossip::Phase::training), finished = in(gossip::Phase::finished);
  const std::size_t paused = in(gossip::Phase::paused), ending = in(gossip::Phase::ending);
  const std::size_t running = training + paused + ending + finished;
  const double degraded = fleet.degraded_share * static_cast<double>(running);
  json distance = nullptr;
  if (fleet.distance && std::isfinite(*fleet.distance))
    distance = {{"value", *fleet.distance}, {"error", fleet.distance_error}};
  // The nodes that have saved the common round, or a later one.
  const std::uint64_t agreed = status.checkpoint.fleet_round.value_or(0);
  json checkpoint = nullptr;
  if (agreed > 0) {
    json missing = json::array();
    for (const gossip::MemberStatus& member : status.members)
      if (member.is_present() && member.member->saved < agreed)
        missing.push_back(member.member->name);
    checkpoint = {{"round", agreed}, {"missing", missing}};
  }
  json hold_up = nullptr;
  if (status.hold_up)
    hold_up = {{"id", to_string(status.hold_up->id)},
               {"name", status.hold_up->name},
               {"share", static_cast<double>(status.hold_up->percent) / 100}};
  const std::size_t nodes = count_present(status.members);
  const std::size_t relays = nodes - count_present(with_data);
  return {{"summary", gossip::sentence(status, snapshot.now)},
          {"nodes", nodes},
          {"relays", relays},
          {"topology", topology_kind_json(snapshot)},
          {"training", training},
          {"paused", paused},
          {"ending", ending},
          {"finished", finished},
          {"joining", in(gossip::Phase::joining) + in(gossip::Phase::resumed)},
          {"degraded", static_cast<std::size_t>(std::lround(degraded))},
          {"loss", spread_json(fleet, Quantity::loss)},
          {"accuracy", spread_json(fleet, Quantity::accuracy)},
          {"round", spread_json(fleet, Quantity::round)},
          {"samples_per_s", rate_json(fleet, Quantity::sample_rate, running)},
          {"bytes_per_s", rate_json(fleet, Quantity::byte_rate, running + relays)},
          {"computing", spread_json(fleet, Quantity::compute_share)},
          {"consensus_distance", distance},
          {"checkpoint", checkpoint},
          {"certificates", certificates_json(status.members)},
          {"hold_up", hold_up},
          {"age_s", seconds(fleet.extremes_age)}};
}

}  // namespace starling::daemon
