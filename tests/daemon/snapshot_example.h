// A snapshot with every field filled, for the tests of what is made of it.
#pragma once

#include <memory>

#include "daemon/process/board.h"
#include "daemon/setup/live_settings.h"
#include "topology/build.h"

namespace starling::daemon {

// Of a node that was given no key.
inline std::shared_ptr<const LiveSettings> default_settings() {
  const Settings settings(schema());
  return std::make_shared<const LiveSettings>(settings, *read_config(settings, {}));
}

inline gossip::MemberStatus example_member(const std::string& name, gossip::Liveness liveness) {
  gossip::MemberStatus status;
  gossip::Member member;
  member.id = node_id(name);
  member.name = name;
  member.control = {.host = "10.0.0.1", .port = 7600};
  member.http = {.host = "10.0.0.1", .port = 7680};
  member.incarnation = 3;
  member.round = 41;
  member.loss = 0.5;
  status.member = member;
  status.liveness = liveness;
  status.last_heard = Time(std::chrono::seconds(50));
  return status;
}

// node-0 of a ring of four, one of which is dead.
inline Snapshot example_snapshot() {
  using gossip::Liveness;
  Snapshot snapshot;
  snapshot.identity = {.id = node_id("node-0"),
                       .name = "node-0",
                       .incarnation = 3,
                       .control = {.host = "127.0.0.1", .port = 7600},
                       .http = {.host = "10.0.0.1", .port = 7680}};
  snapshot.now = Time(std::chrono::seconds(60));
  gossip::Status& status = snapshot.status;
  status.state = gossip::State::training;
  status.algorithm = "dpsgd";
  status.schedule = "rounds";
  status.codec = "i4";
  status.reasons = {"one member is dead"};
  status.run.round = 42;
  status.run.steps = 42;
  status.run.end = {.progress = "42 of 84 rounds", .done = 0.5};
  status.run.samples = 1344;
  status.run.local_steps = 1;
  status.run.learning_rate = 0.1;
  status.run.loss = 0.25;
  status.run.evaluation = {
      .round = 40, .loss = 0.3, .accuracy = 0.9, .rmse = 0.7, .samples = 20, .available = 100};
  status.run.privacy = {.epsilon = 1.25, .delta = 1e-5, .steps = 42};
  status.run.distance_to_optimum = 0.01;
  status.run.codec = {
      .vector_bytes = 516, .f32_bytes = 4000, .quality = 0.97, .memory_bytes = 16'516};
  status.run.shard_samples = 100;
  status.run.shard_description = "blocks 0 to 3";
  status.consensus_distance = 0.02;
  status.neighbor_distance = 0.03;
  status.mixing_rate = 0.4;
  status.members = {
      example_member("node-0", Liveness::alive), example_member("node-1", Liveness::alive),
      example_member("node-2", Liveness::suspect), example_member("node-3", Liveness::dead)};
  status.members.front().self = true;
  status.edges = {{.id = node_id("node-1"),
                   .name = "node-1",
                   .state = gossip::EdgeState::active,
                   .weight = 1.0 / 3,
                   .round = 41,
                   .staleness = 1,
                   .rtt_s = 0.001,
                   .patience_s = 0.25,
                   .codec_quality = 0.96,
                   .distance = 0.03,
                   .sent_bytes = 1000,
                   .received_bytes = 2000,
                   .rejected = {{"stale", 2}}}};
  std::vector<topology::Site> sites;
  for (const std::string name : {"node-0", "node-1", "node-2", "node-3"})
    sites.push_back({node_id(name), name});
  const topology::Options ring{.kind = topology::Kind::ring};
  status.topology = {.options = std::make_shared<const topology::Options>(ring),
                     .sites = std::make_shared<const std::vector<topology::Site>>(sites),
                     .degree = 2,
                     .epoch = 5};
  status.sent_bytes = 4000;
  status.received_bytes = 5000;
  status.compute = std::chrono::seconds(6);
  status.evaluation = std::chrono::seconds(2);
  status.wait = std::chrono::seconds(3);
  status.mix = std::chrono::seconds(1);
  status.other = std::chrono::seconds(1);
  status.rejected = {{"wrong cluster", 1}};
  return snapshot;
}

inline gossip::Progress example_point(std::uint64_t round) {
  return {.round = round,
          .time_s = 0.5 * static_cast<double>(round),
          .loss = 1.0 / static_cast<double>(round + 1),
          .accuracy = 0.9,
          .rmse = 0.7,
          .evaluation_loss = 0.3,
          .distance = 0.02,
          .distance_to_optimum = 0.01,
          .bytes = 100 * round};
}

}  // namespace starling::daemon
