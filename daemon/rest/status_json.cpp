#include "daemon/rest/status_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utc.h"
#include "daemon/process/clock.h"
#include "daemon/process/version.h"
#include "gossip/report/sentence.h"
#include "topology/plan.h"
#include "topology/weights.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

json node_json(const Snapshot& snapshot) {
  const Identity& identity = snapshot.identity;
  return {{"id", to_string(identity.id)},
          {"name", identity.name},
          {"version", kVersion},
          {"incarnation", identity.incarnation},
          {"uptime_s", seconds(snapshot.now)},
          {"state", gossip::name(snapshot.status.state)},
          {"reasons", snapshot.status.reasons},
          {"warnings", snapshot.status.warnings}};
}

// Without the round.
json quality_json(const optim::Evaluation& evaluation) {
  json object = json::object();
  put(object, "loss", evaluation.loss);
  put(object, "accuracy", evaluation.accuracy);
  put(object, "rmse", evaluation.rmse);
  if (evaluation.available > 0) {
    object["samples"] = evaluation.samples;
    object["available"] = evaluation.available;
  }
  put(object, "auc", evaluation.area);
  if (evaluation.area) object["auc_pairs"] = evaluation.pairs;
  if (const auto& rare = evaluation.rare)
    object["rare"] = {{"class", rare->name}, {"rows", rare->rows}, {"found", rare->found}};
  return object;
}

json evaluation_json(const optim::Evaluation& evaluation) {
  json object = quality_json(evaluation);
  object["round"] = evaluation.round;
  return object;
}

// Sizes only where the model is known.
json codec_json(const std::string& name, const gossip::CodecStatus& codec) {
  json object = {{"name", name}, {"memory_bytes", codec.memory_bytes}};
  put(object, "quality", codec.quality);
  if (!codec.chosen.empty()) object["chosen"] = codec.chosen;
  if (!codec.reason.empty()) object["reason"] = codec.reason;
  if (codec.vector_bytes == 0) return object;
  object["vector_bytes"] = codec.vector_bytes;
  object["f32_bytes"] = codec.f32_bytes;
  return object;
}

// Without an epsilon there is no bound.
json privacy_json(const optim::PrivacySpent& spent) {
  json object = {{"delta", spent.delta}, {"steps", spent.steps}};
  put(object, "epsilon", spent.epsilon);
  return object;
}

json l2_json(const optim::Preparation& preparation) {
  json object = {{"value", *preparation.l2}};
  if (!preparation.l2_reason.empty()) object["reason"] = preparation.l2_reason;
  return object;
}

// How far the run is, and how it ended.
void add_end(json& run, const gossip::EndStatus& end) {
  put(run, "remaining_s", end.remaining_s);
  if (!end.progress.empty()) run["progress"] = end.progress;
  put(run, "done", end.done);
  if (!end.shortfall.empty()) run["shortfall"] = end.shortfall;
  if (!end.round) return;
  run["end"] = {{"round", *end.round}, {"reason", end.reason}, {"reached", end.goal_reached}};
  put(run["end"], end.model);
}

json run_json(const gossip::Status& status) {
  const gossip::RunStatus& run = status.run;
  json object = {{"algorithm", status.algorithm},
                 {"schedule", status.schedule},
                 {"codec", codec_json(status.codec, run.codec)},
                 {"round", run.round},
                 {"uncounted_rounds", run.uncounted},
                 {"steps", run.steps},
                 {"samples", run.samples},
                 {"shard", {{"samples", run.shard_samples}}}};
  if (!run.shard_description.empty()) object["shard"]["description"] = run.shard_description;
  if (run.preparation.l2) object["l2"] = l2_json(run.preparation);
  if (!run.preparation.unmatched.empty()) object["unmatched"] = run.preparation.unmatched;
  if (run.preparation.alone) object["alone"] = quality_json(*run.preparation.alone);
  // Before the first step both are zeros, not measurements.
  if (run.steps > 0) {
    object["local_steps"] = run.local_steps;
    put(object, "learning_rate", run.learning_rate);
    put(object, "loss", run.loss);
  }
  if (!run.local_steps_reason.empty()) object["local_steps_reason"] = run.local_steps_reason;
  if (run.evaluation) object["eval"] = evaluation_json(*run.evaluation);
  if (run.privacy) object["privacy"] = privacy_json(*run.privacy);
  put(object, "distance_to_optimum", run.distance_to_optimum);
  if (run.problem) object["problem"] = *run.problem;
  add_end(object, run.end);
  return object;
}

json checkpoint_json(const gossip::CheckpointStatus& checkpoint, Time now) {
  json object = {{"kept", checkpoint.is_kept}, {"writing", checkpoint.is_writing}};
  if (checkpoint.round) {
    object["round"] = *checkpoint.round;
    object["generation"] = checkpoint.generation;
    object["bytes"] = checkpoint.bytes;
    object["age_s"] = seconds(now - checkpoint.saved_at);
    object["took_s"] = seconds(checkpoint.took);
  }
  if (checkpoint.fleet_round) object["fleet_round"] = *checkpoint.fleet_round;
  if (!checkpoint.problem.empty()) object["problem"] = checkpoint.problem;
  return object;
}

json liveness_counts(std::span<const gossip::MemberStatus> members) {
  json counts;
  for (const auto liveness : {gossip::Liveness::alive, gossip::Liveness::suspect,
                              gossip::Liveness::dead, gossip::Liveness::left})
    counts[std::string(gossip::name(liveness))] = count_in(members, liveness);
  return counts;
}

std::optional<double> gap(std::optional<double> second_modulus) {
  if (!second_modulus) return std::nullopt;
  return 1 - *second_modulus;
}

json topology_summary(const Snapshot& snapshot, std::optional<double> second_modulus) {
  json object = topology_kind_json(snapshot);
  object["epoch"] = snapshot.status.topology.epoch;
  put(object, "degree", snapshot.status.topology.degree);
  put(object, "spectral_gap", gap(second_modulus));
  return object;
}

// An explanation for people.
std::string_view meaning(std::string_view reason) {
  using Pair = std::pair<std::string_view, std::string_view>;
  static constexpr Pair kMeanings[] = {
      {"repeated", "normal: it came a second time, by another connection, and counts once"},
      {"incarnation", "normal after a restart: words of an earlier life of a node"},
      {"incomplete", "normal after a broken connection: the rest did not come, and is asked for"},
      {"cluster", "a node of another cluster.id speaks to this one"},
      {"own name", "another node has the name of this one"},
      {"sender", "a message in the name of another node than the one that sent it"},
      {"plane", "a control message came over a connection for vectors, or the other way round"},
      {"protocol", "a node of another version of the program speaks to this one"},
      {"size", "larger than any message of this model: another model, or no node"},
      {"malformed", "no message of this program, or of another version"},
      {"checksum", "damaged on the way, or no message of this program"},
      {"limit", "too many transfers are under way at once"},
      {"unsigned", "a record of a member without a signature: passed on by a node without keys"},
      {"certificate", "a record of a member with the certificate of another name, or with none"},
      {"signature", "a record that the member has not signed: the sender has changed it"},
      {"accusation", "the sender accuses a member in another's name"},
      {"survey",
       "the sender tells a survey of another founder's data that the founder did not sign"},
      {"farewell", "the sender says that a member has left, and the member does not say so"},
      {"revoked", "a record of a member that was revoked"},
      {"superseded", "a record of a member with a certificate that a later one has replaced"},
      {"other-cluster", "a record of a member with a certificate of another cluster key"},
      {"unknown-key", "a record of a member whose key is not among the authorized keys"},
      {"bad-signature", "a record of a member with a certificate that was changed"},
      {"topology", "the members and topology.* make no graph"}};
  const auto found = std::ranges::find(kMeanings, reason, &Pair::first);
  return found == std::end(kMeanings) ? "not known" : found->second;
}

json certificate_json(const gossip::Certificate& certificate) {
  json object = {{"key", to_string(certificate.key)},
                 {"from", utc_text(certificate.not_before)},
                 {"until", utc_text(certificate.not_after)}};
  if (!certificate.is_self_signed()) object["cluster_key"] = to_string(certificate.cluster);
  if (!certificate.group.empty()) object["group"] = certificate.group;
  return object;
}

json rejected_json(const gossip::Status& status) {
  json object = json::object();
  for (const auto& [reason, kinds] : status.rejected_kinds)
    object[reason] = {{"meaning", meaning(reason)}, {"messages", kinds}};
  return object;
}

json trainer_json(const TrainerStatus& trainer) {
  json object = {{"state", name(trainer.state)},
                 {"socket", trainer.socket},
                 {"steps", trainer.steps},
                 {"exchanges", trainer.exchanges},
                 {"attached_trainers", trainer.attached},
                 {"refused_trainers", trainer.refused}};
  if (!trainer.reason.empty()) object["reason"] = trainer.reason;
  if (!trainer.pause.empty()) object["pause"] = trainer.pause;
  if (!trainer.client.empty()) object["client"] = trainer.client;
  if (trainer.saved_bytes) object["saved_bytes"] = *trainer.saved_bytes;
  if (!trainer.mode.empty()) object["mode"] = trainer.mode;
  if (trainer.process) object["process"] = *trainer.process;
  return object;
}

// Which neighbour the member's rounds wait for, by its own record.
void put_wait(json& object, const gossip::Held& held,
              const std::vector<gossip::MemberStatus>& members) {
  if (held.percent == 0) return;
  const auto by = [&](const gossip::MemberStatus& other) { return other.member->id == held.by; };
  const auto found = std::ranges::find_if(members, by);
  if (found == members.end()) return;
  object["waits_for"] = found->member->name;
  object["waiting"] = static_cast<double>(held.percent) / 100;
}

// "refused: model.kind is mlp there and softmax here"
std::string edge_state(const gossip::EdgeStatus& edge) {
  const std::string state(name(edge.state));
  return edge.refusal.empty() ? state : state + ": " + edge.refusal;
}

// `added`: those that stand for edges of two hidden nodes.
json edges_json(const topology::Graph& graph, const std::vector<std::string>& names,
                const topology::Edges& added) {
  json edges = json::array();
  const bool directed = graph.is_directed();
  for (int i = 0; i < graph.size(); ++i)
    for (const int j : graph.out[i]) {
      if (!directed && i > j) continue;
      edges.push_back({{"from", names[i]},
                       {"to", names[j]},
                       {"weight", topology::metropolis(graph.degree(i), graph.degree(j))}});
      if (std::ranges::find(added, std::pair(i, j)) != added.end()) edges.back()["detour"] = true;
    }
  return edges;
}

json replaced_json(const topology::Edges& replaced, const std::vector<std::string>& names) {
  json edges = json::array();
  for (const auto& [from, to] : replaced)
    edges.push_back({{"from", names[from]}, {"to", names[to]}});
  return edges;
}

void put_range(json& object, const char* key, const std::optional<gossip::Spread>& spread) {
  if (!spread || !std::isfinite(spread->mean)) return;
  json& entry = object[key] = {{"mean", spread->mean}};
  put(entry, "min", spread->least);
  put(entry, "max", spread->most);
}

json fleet_point_json(const FleetPoint& point) {
  json object = {{"round", point.round}, {"time_s", point.time_s}, {"age_s", point.age_s}};
  put_range(object, "loss", point.loss);
  put_range(object, "accuracy", point.accuracy);
  put_range(object, "bytes_per_s", point.byte_rate);
  if (point.distance && std::isfinite(*point.distance))
    object["consensus_distance"] = {{"value", *point.distance}};
  return object;
}

}  // namespace

json security_json(const gossip::SecurityStatus& security) {
  json object = {{"encrypted", security.certificate.has_value()},
                 {"revocations", security.revocations},
                 {"refused", security.refused},
                 {"refused_peers", json::array()}};
  if (security.certificate) object["certificate"] = certificate_json(*security.certificate);
  const Time now = daemon::now();
  for (const gossip::RefusedPeer& peer : security.peers)
    object["refused_peers"].push_back({{"peer", peer.who},
                                       {"reason", peer.reason},
                                       {"words", peer.words},
                                       {"count", peer.count},
                                       {"age_s", seconds(now - peer.last)}});
  return object;
}

json topology_kind_json(const Snapshot& snapshot) {
  const gossip::TopologyStatus& seen = snapshot.status.topology;
  json object = {{"kind", seen.options ? topology::to_string(seen.options->kind) : ""}};
  if (seen.options && seen.sites && seen.options->kind == topology::Kind::automatic)
    object["chosen"] = topology::graph_name(*seen.options, seen.sites->size());
  return object;
}

std::string fault_of(const Snapshot& snapshot) {
  if (snapshot.trainer && !snapshot.trainer->crashes.empty()) return snapshot.trainer->crashes;
  const std::string& alone = snapshot.status.alone;
  return alone.empty() ? "" : "it has averaged with no other node: " + alone;
}

json status_json(const Snapshot& snapshot, std::optional<double> second_modulus,
                 std::optional<double> mixing_rate) {
  const gossip::Status& status = snapshot.status;
  json consensus = json::object();
  // Before the first round both are zeros, not measurements, as is the loss of a member.
  if (status.run.round > 0) {
    put(consensus, "distance", status.consensus_distance);
    put(consensus, "neighbor_distance", status.neighbor_distance);
  }
  consensus["unsettled_edges"] = status.unsettled_edges;
  consensus["late_edges"] = status.late_edges;
  consensus["abandoned_edges"] = status.abandoned_edges;
  put(consensus, "mixing_rate", status.mixing_rate);
  put(consensus, "expected_mixing_rate", mixing_rate);
  json document = {
      {"summary", gossip::sentence(status, snapshot.now)},
      {"node", node_json(snapshot)},
      {"run", run_json(status)},
      {"consensus", consensus},
      {"topology", topology_summary(snapshot, second_modulus)},
      {"members", liveness_counts(status.members)},
      {"traffic",
       {{"sent_bytes", status.sent_bytes},
        {"received_bytes", status.received_bytes},
        {"sent_bytes_per_s", status.sent_per_s},
        {"sent_peak_bytes_per_s", status.sent_most_per_s}}},
      {"time",
       {{"compute_s", seconds(status.compute)},
        {"evaluate_s", seconds(status.evaluation)},
        {"wait_s", seconds(status.wait)},
        {"network_wait_s", seconds(status.network_wait)},
        {"mix_s", seconds(status.mix)},
        {"other_s", seconds(status.other)}}},
      {"cores",
       {{"usable", snapshot.cores.usable},
        {"throttled", snapshot.cores.throttled},
        {"overheated", snapshot.cores.overheated}}},
      {"descriptors",
       {{"used", snapshot.descriptors.used}, {"allowed", snapshot.descriptors.allowed}}},
      {"checkpoint", checkpoint_json(status.checkpoint, snapshot.now)},
      {"security", security_json(snapshot.security)},
      {"rejected", status.rejected},
      {"rejected_messages", rejected_json(status)}};
  if (const std::string fault = fault_of(snapshot); !fault.empty())
    document["run"]["fault"] = fault;
  if (snapshot.trainer) document["trainer"] = trainer_json(*snapshot.trainer);
  return document;
}

// The latest that is known of a member's rounds and loss, and how old that is: its record; for this
// node what it is at; for a neighbour a newer vector, sent after the rounds before it.
void put_course(json& object, const gossip::MemberStatus& status, const Snapshot& snapshot) {
  const gossip::Member& member = status.member;
  const gossip::RunStatus& run = snapshot.status.run;
  std::uint64_t round = status.self ? std::max(member.round, run.round) : member.round;
  Time told = status.self ? snapshot.now : status.told;
  object["told_s"] = seconds(snapshot.now - told);
  const auto edge = std::ranges::find(snapshot.status.edges, member.id, &gossip::EdgeStatus::id);
  if (edge != snapshot.status.edges.end() && edge->round > 0) {
    object["behind"] = edge->staleness;
    if (edge->round > round) round = edge->round - 1, told = std::max(told, edge->heard);
  }
  object["round"] = round;
  object["round_age_s"] = seconds(snapshot.now - told);
  if (member.round == 0 || is_relay(member)) return;
  const bool is_newer = status.self && run.steps > 0 && std::isfinite(run.loss);
  put(object, "loss", is_newer ? run.loss : member.loss);
}

json members_json(const Snapshot& snapshot) {
  json members = json::array();
  for (const gossip::MemberStatus& status : snapshot.status.members) {
    const gossip::Member& member = status.member;
    const Duration silence = status.self ? Duration{} : snapshot.now - status.last_heard;
    json object = {{"id", to_string(member.id)},
                   {"name", member.name},
                   {"state", gossip::name(status.liveness)},
                   {"phase", gossip::name(member.phase)},
                   {"incarnation", member.incarnation},
                   {"last_heard_s", seconds(silence)}};
    put_course(object, status, snapshot);
    if (is_hidden(member))
      object["hidden"] = true;
    else
      object["control"] = to_string(member.control);
    if (is_relay(member)) object["role"] = "relay";
    if (!member.group.empty()) object["group"] = member.group;
    const Endpoint& http = status.self ? snapshot.identity.http : member.http;
    if (http.port != 0 && (status.self || !is_hidden(member))) object["http"] = to_string(http);
    if (member.saved > 0) object["saved_round"] = member.saved;
    if (const auto certificate =
            gossip::decode_certificate(std::as_bytes(std::span(member.certificate))))
      object["certificate"] = certificate_json(*certificate);
    put_wait(object, member.held, snapshot.status.members);
    members.push_back(std::move(object));
  }
  return {{"members", std::move(members)}};
}

json neighbors_json(const Snapshot& snapshot) {
  json neighbors = json::array();
  for (const gossip::EdgeStatus& edge : snapshot.status.edges) {
    json object = {{"id", to_string(edge.id)},
                   {"name", edge.name},
                   {"state", edge_state(edge)},
                   {"round", edge.round},
                   {"staleness", edge.staleness},
                   {"sent_bytes", edge.sent_bytes},
                   {"received_bytes", edge.received_bytes},
                   {"rejected", edge.rejected}};
    put(object, "weight", edge.weight);
    put(object, "rtt_s", edge.rtt_s);
    put(object, "patience_s", edge.patience_s);
    put(object, "codec_quality", edge.codec_quality);
    if (!edge.encoding.empty()) object["encoding"] = edge.encoding;
    put(object, "send_bytes_per_s", edge.send_rate);
    put(object, "receive_bytes_per_s", edge.receive_rate);
    object["queued_bytes"] = edge.queued_bytes;
    object["repeated_bytes"] = edge.repeated_bytes;
    put(object, "distance", edge.distance);
    neighbors.push_back(std::move(object));
  }
  return {{"neighbors", std::move(neighbors)}};
}

json topology_json(const Snapshot& snapshot, const topology::Graph* graph,
                   std::optional<double> second_modulus) {
  const std::vector<std::string> names = snapshot.status.topology.names();
  json object = {{"nodes", json::array()}, {"edges", json::array()}};
  for (const std::string& name : names)
    object["nodes"].push_back({{"id", to_string(node_id(name))}, {"name", name}});
  for (std::size_t k = 0; k < names.size(); ++k)
    if ((*snapshot.status.topology.sites)[k].is_hidden) object["nodes"][k]["hidden"] = true;
  if (graph) {
    const gossip::TopologyStatus& seen = snapshot.status.topology;
    const topology::Detours detours = topology::detours(*seen.options, *seen.sites, *graph);
    object["edges"] = edges_json(*graph, names, detours.added);
    if (!detours.replaced.empty()) object["replaced"] = replaced_json(detours.replaced, names);
    object["directed"] = graph->is_directed();
    object["connected"] = graph->is_connected();
  }
  put(object, "spectral_gap", gap(second_modulus));
  return object;
}

std::string topology_dot(const Snapshot& snapshot, const topology::Graph* graph) {
  if (!graph) return "graph starling {\n}\n";
  return topology::dot(*graph, *snapshot.status.topology.sites);
}

json point_json(const gossip::Progress& point) {
  json object = {{"round", point.round}, {"bytes", point.bytes}};
  put(object, "time_s", point.time_s);
  put(object, "loss", point.loss);
  put(object, "held_out_loss", point.evaluation_loss);
  put(object, "accuracy", point.accuracy);
  put(object, "rmse", point.rmse);
  put(object, "distance", point.distance);
  put(object, "distance_to_optimum", point.distance_to_optimum);
  return object;
}

json convergence_json(std::span<const gossip::Progress> series, std::span<const FleetPoint> fleet) {
  json points = json::array(), of_fleet = json::array();
  for (const gossip::Progress& point : series) points.push_back(point_json(point));
  for (const FleetPoint& point : fleet) of_fleet.push_back(fleet_point_json(point));
  return {{"series", std::move(points)}, {"fleet", std::move(of_fleet)}};
}

json event_json(const LoggedEvent& logged) {
  return {{"sequence", logged.sequence},
          {"time_s", logged.time_s},
          {"at", logged.at},
          {"kind", name(logged.event.kind)},
          {"text", logged.event.text}};
}

json events_json(std::span<const LoggedEvent> events) {
  json list = json::array();
  for (const LoggedEvent& event : events) list.push_back(event_json(event));
  return {{"events", std::move(list)}};
}

std::string to_text(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace starling::daemon
