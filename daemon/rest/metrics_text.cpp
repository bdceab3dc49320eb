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

#include "daemon/process/version.h"
#include "daemon/rest/status_json.h"

namespace starling::daemon {
namespace {

using prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// One invalid byte of a name that came over the network would cost the whole scrape.
std::string valid_utf8(const std::string& text) {
  return nlohmann::json::parse(to_text(text)).get<std::string>();
}

// The families of one scrape, in order. Those without a value are left out.
class Families {
 public:
  void gauge(const char* name, std::string help, std::optional<double> value = {}) {
    begin(MetricType::Gauge, name, std::move(help), value);
  }
  void counter(const char* name, std::string help, std::optional<double> value = {}) {
    begin(MetricType::Counter, name, std::move(help), value);
  }

  // A value of the family that was begun last.
  void put(std::optional<double> value, Labels labels = {}) {
    if (!value || !std::isfinite(*value)) return;
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (families_.back().type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
        *value;
    families_.back().metric.push_back(std::move(metric));
  }

  std::string text() {
    std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
    const prometheus::Serializer& serializer = prometheus::TextSerializer();
    return serializer.Serialize(families_);
  }

 private:
  void begin(MetricType type, const char* name, std::string help, std::optional<double> value) {
    families_.push_back({.name = name, .help = std::move(help), .type = type, .metric = {}});
    put(value);
  }

  std::vector<prometheus::MetricFamily> families_;
};

void add_node(Families& families, const Snapshot& snapshot) {
  const Identity& identity = snapshot.identity;
  families.gauge("starling_build_info", "The program; the value is always 1.");
  families.put(1, {{"version", std::string(kVersion)}});
  families.gauge("starling_node_info",
                 "Who the node is and what it runs; the value is always 1. Join it to other "
                 "series to show the name: starling_round * on (instance) group_left (node) "
                 "starling_node_info.");
  families.put(1, {{"node", valid_utf8(identity.name)},
                   {"algorithm", identity.algorithm},
                   {"schedule", identity.schedule},
                   {"topology", identity.topology_kind}});
  families.gauge("starling_uptime_seconds", "Time since the process started.",
                 seconds(snapshot.now));
  families.gauge("starling_state",
                 "1 for the state that the node is in, 0 for the others. A node that is degraded "
                 "runs, and something that a person can mend is wrong with it.");
  using gossip::State;
  for (const State state :
       {State::starting, State::joining, State::training, State::paused, State::degraded,
        State::leaving, State::ending, State::settling, State::sealing, State::finished})
    families.put(state == snapshot.status.state, {{"state", std::string(gossip::name(state))}});
  families.gauge("starling_warnings",
                 "How many things are wrong that a person can mend; /v1/status says which.",
                 static_cast<double>(snapshot.status.warnings.size()));
}

void add_run(Families& families, const gossip::RunStatus& run) {
  families.gauge("starling_round",
                 "Rounds completed or jumped over. It jumps where a newcomer takes the model and "
                 "the round of a node that trains.",
                 static_cast<double>(run.round));
  families.counter("starling_steps_total", "Local steps: gradients that moved the model.",
                   run.steps);
  families.counter("starling_samples_total",
                   "Samples that the local steps looked at, repeated ones counted again.",
                   run.samples);
  families.gauge("starling_shard_samples", "Samples of the data that this node trains on.",
                 static_cast<double>(run.shard_samples));
  families.gauge(
      "starling_goal_remaining_seconds",
      "Time until the first limit of stop.* is reached, as it goes now. Absent where none "
      "is set, or nothing is known yet.",
      run.end.remaining_s);
  if (run.privacy)
    families.gauge("starling_privacy_epsilon",
                   "With optim.noise: what the node's vectors may tell about one of its samples, "
                   "by its steps in all lives. Absent where nothing bounds it.",
                   run.privacy->epsilon);
  if (run.steps == 0) return;  // both are zeros, not measurements
  families.gauge("starling_loss",
                 "Training loss of the last local step, of one batch of the node's own data: it "
                 "is noisy, and low where the node knows its own data only.",
                 run.loss);
  families.gauge("starling_learning_rate", "Length of the last local step.", run.learning_rate);
}

void add_codec(Families& families, const gossip::CodecStatus& codec) {
  families.gauge("starling_codec_quality_ratio",
                 "How much of what the node's vectors have to tell its codec carries, from 0 to 1: "
                 "a mean over recent messages and all edges. 1 with plain formats.",
                 codec.quality);
  families.gauge("starling_codec_memory_bytes",
                 "Bytes of what the codec remembers of the edges. 0 with plain formats.",
                 static_cast<double>(codec.memory_bytes));
  if (codec.vector_bytes == 0) return;  // the model is not known yet
  families.gauge("starling_vector_bytes",
                 "Bytes of a vector that the node offers, after the first of an edge.",
                 static_cast<double>(codec.vector_bytes));
}

void add_evaluation(Families& families, const gossip::RunStatus& run) {
  families.gauge("starling_distance_to_optimum",
                 "||x - x*||, where the optimum x* is known: reference problems.",
                 run.distance_to_optimum);
  if (!run.evaluation) return;
  families.gauge("starling_eval_round", "The round in which the model was evaluated last.",
                 static_cast<double>(run.evaluation->round));
  families.gauge("starling_eval_loss",
                 "Loss of the last evaluation, on held-out data, or as a trainer tells it.",
                 run.evaluation->loss);
  families.gauge("starling_eval_accuracy_ratio",
                 "Share of held-out samples that the last evaluation classified right, from 0 to "
                 "1. Absent for regression.",
                 run.evaluation->accuracy);
  families.gauge("starling_eval_rmse",
                 "Root mean square error of the last evaluation, in units of the target. Absent "
                 "for classification.",
                 run.evaluation->rmse);
}

void add_consensus(Families& families, const gossip::Status& status) {
  families.counter("starling_abandoned_edges_total",
                   "Closed edges that were given up while one end may have averaged a pair of "
                   "vectors and the other not: a share of the mean may be lost with each.",
                   status.abandoned_edges);
  if (status.run.round == 0) return;  // zeros, not measurements
  families.gauge("starling_consensus_distance_ratio",
                 "How far the models are from their mean, relative to it: ||x_i - mean|| / "
                 "||mean||, estimated from the neighbours. When it grows, the averaged loss "
                 "deceives: the learning rate is too large for the topology.",
                 status.consensus_distance);
  families.gauge("starling_mixing_rate_ratio",
                 "What a round of averaging left of a disagreement, measured over 256 rounds, from "
                 "0 to 1. Where it grows, vectors are late or nodes are missing; 1 - spectral_gap "
                 "of /v1/topology is what the graph promises.",
                 status.mixing_rate);
  families.gauge("starling_neighbor_distance_max",
                 "||x_j - x_i|| to the neighbour whose model is farthest.",
                 status.neighbor_distance);
}

void add_members(Families& families, const gossip::Status& status) {
  using gossip::Liveness;
  families.gauge("starling_members",
                 "Members that this node knows, itself among them: alive, suspect (silent for a "
                 "while), dead (silent for long) or left (took leave).");
  for (const auto liveness : {Liveness::alive, Liveness::suspect, Liveness::dead, Liveness::left})
    families.put(static_cast<double>(count_in(status.members, liveness)),
                 {{"state", std::string(gossip::name(liveness))}});
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

void add_traffic(Families& families, const gossip::Status& status) {
  families.counter("starling_sent_bytes_total",
                   "Bytes of payload that were sent: vectors above all.", status.sent_bytes);
  families.gauge("starling_sent_peak_bytes_per_second",
                 "Of the last 16 seconds, the most bytes of payload sent in a quarter of one.",
                 status.sent_most_per_s);
  families.counter("starling_received_bytes_total", "Bytes that were received.",
                   status.received_bytes);
  families.counter("starling_time_seconds_total",
                   "Where the time of the node goes: compute (local steps and evaluation), wait "
                   "(for neighbours and the network) or mix (averaging).");
  families.put(seconds(status.compute), {{"activity", "compute"}});
  families.put(seconds(status.wait), {{"activity", "wait"}});
  families.put(seconds(status.mix), {{"activity", "mix"}});
  families.counter("starling_evaluation_seconds_total",
                   "The part of the computing in which the model was evaluated.",
                   seconds(status.evaluation));
  families.counter("starling_network_wait_seconds_total",
                   "The part of the waiting in which a vector was under way. A node that mostly "
                   "waits so has a network too slow for its model.",
                   seconds(status.network_wait));
  families.counter("starling_rejected_messages_total",
                   "Messages refused, by reason; repeated, incarnation and incomplete are normal.");
  for (const auto& [reason, count] : status.rejected)
    families.put(static_cast<double>(count), {{"reason", valid_utf8(reason)}});
}

void add_security(Families& families, const SecurityStatus& security) {
  families.gauge("starling_certificate_end_seconds",
                 "When the node's certificate ends, in seconds since 1970.");
  if (security.certificate) families.put(static_cast<double>(security.certificate->not_after));
  families.counter("starling_refused_connections_total",
                   "Connections with other nodes that were refused, by reason.");
  for (const auto& [reason, count] : security.refused)
    families.put(static_cast<double>(count), {{"reason", reason}});
}

// ---- neighbours

// The edges that one value of the label `neighbor` stands for: one, or all that are "other".
struct Neighbor {
  std::string label;
  std::vector<const gossip::EdgeStatus*> edges;
};

std::vector<Neighbor> neighbors(std::span<const gossip::EdgeStatus> edges) {
  std::vector<Neighbor> named;
  Neighbor other{"other", {}};
  std::set<std::string> taken = {other.label};
  for (const gossip::EdgeStatus& edge : edges) {
    std::string label = valid_utf8(edge.name);
    // Two series of the same labels would cost the scrape.
    if (named.size() < kNeighborSeriesLimit && taken.insert(label).second)
      named.push_back({std::move(label), {&edge}});
    else
      other.edges.push_back(&edge);
  }
  if (!other.edges.empty()) named.push_back(std::move(other));
  return named;
}

// Puts the largest value of each neighbour.
void put_largest(Families& families, std::span<const Neighbor> neighbors, auto value) {
  for (const Neighbor& neighbor : neighbors) {
    std::optional<double> largest;
    for (const gossip::EdgeStatus* edge : neighbor.edges)
      if (const std::optional<double> one = edge->*value; one && std::isfinite(*one))
        largest = std::max(*one, largest.value_or(*one));
    families.put(largest, {{"neighbor", neighbor.label}});
  }
}

// The same, with the least.
void put_least(Families& families, std::span<const Neighbor> neighbors, auto value) {
  for (const Neighbor& neighbor : neighbors) {
    double least = neighbor.edges.front()->*value;
    for (const gossip::EdgeStatus* edge : neighbor.edges) least = std::min(least, edge->*value);
    families.put(least, {{"neighbor", neighbor.label}});
  }
}

// A counter of each neighbour that has series of its own.
void put_counter(Families& families, std::span<const Neighbor> neighbors, auto value) {
  for (const Neighbor& neighbor : neighbors)
    if (neighbor.label != "other")
      families.put(static_cast<double>(neighbor.edges.front()->*value),
                   {{"neighbor", neighbor.label}});
}

void add_edge_gauges(Families& families, std::span<const Neighbor> neighbors) {
  using gossip::EdgeStatus;
  families.gauge("starling_neighbor_round_trip_seconds",
                 "Time that a message to the neighbour and its answer take.");
  put_largest(families, neighbors, &EdgeStatus::rtt_s);
  families.gauge("starling_neighbor_staleness_rounds",
                 "By how many rounds the newest vector of the neighbour is older than the node's "
                 "own. Where it grows, the neighbour is slow, stopped or cut off.");
  put_largest(families, neighbors, &EdgeStatus::staleness);
  families.gauge("starling_neighbor_queued_bytes",
                 "Bytes of vectors that the neighbour has not acknowledged.");
  put_largest(families, neighbors, &EdgeStatus::queued_bytes);
  families.gauge("starling_neighbor_distance", "||x_j - x_i||: how far the two models are apart.");
  put_largest(families, neighbors, &EdgeStatus::distance);
  families.gauge("starling_neighbor_codec_quality_ratio",
                 "How much of the vectors to the neighbour the codec carries, from 0 to 1. 1 with "
                 "plain formats.");
  put_least(families, neighbors, &EdgeStatus::codec_quality);
}

void add_edge_counters(Families& families, std::span<const Neighbor> neighbors) {
  using gossip::EdgeStatus;
  families.counter("starling_neighbor_sent_bytes_total",
                   "Bytes of vectors sent over the edge since it opened.");
  put_counter(families, neighbors, &EdgeStatus::sent_bytes);
  families.counter("starling_neighbor_received_bytes_total",
                   "Bytes of vectors received over the edge since it opened.");
  put_counter(families, neighbors, &EdgeStatus::received_bytes);
  families.counter("starling_neighbor_repeated_bytes_total",
                   "Bytes of vectors that were sent again, since the edge opened: what a lossy "
                   "network costs.");
  put_counter(families, neighbors, &EdgeStatus::repeated_bytes);
  families.counter("starling_neighbor_rejected_vectors_total",
                   "Vectors of the neighbour that were not averaged, by reason.");
  for (const Neighbor& neighbor : neighbors)
    if (neighbor.label != "other")
      for (const auto& [reason, count] : neighbor.edges.front()->rejected)
        families.put(static_cast<double>(count),
                     {{"neighbor", neighbor.label}, {"reason", valid_utf8(reason)}});
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
  const std::vector<Neighbor> labelled = neighbors(edges);
  add_edge_gauges(families, labelled);
  add_edge_counters(families, labelled);
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
  const gossip::Status& status = snapshot.status;
  Families families;
  add_node(families, snapshot);
  add_run(families, status.run);
  add_codec(families, status.run.codec);
  add_evaluation(families, status.run);
  add_consensus(families, status);
  add_members(families, status);
  add_events(families, events);
  add_traffic(families, status);
  add_security(families, snapshot.security);
  add_edges(families, status.edges);
  add_fleet(families, status.fleet);
  return families.text();
}

}  // namespace starling::daemon
