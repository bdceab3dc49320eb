// One message of every kind, for tests of what carries them.
#pragma once

#include <string>
#include <vector>

#include "gossip/wire/message.h"

namespace starling::test {

inline gossip::Member sample_member(const std::string& name) {
  gossip::Member member;
  member.report() = {.phase = gossip::Phase::training,
                     .round = 12,
                     .loss = 0.25,
                     .end_at = 600,
                     .samples = 1ULL << 40,
                     .accuracy = 1,
                     .held_out_loss = gossip::kAmountMost,
                     .sealed = ~0ULL};
  member.id = node_id(name);
  member.name = name;
  member.control = {"10.0.0.1", 7600};
  member.http = {"host.example", 7680};
  member.incarnation = 3;
  member.version = 1 << 20;
  member.agreement = ~0ULL;
  return member;
}

inline gossip::Round round_of(const gossip::VectorTerms& terms, std::uint64_t epoch,
                              std::uint64_t echo = 0, std::uint64_t number = 0) {
  gossip::Round round;
  round.terms() = terms;
  round.epoch = epoch, round.echo = echo, round.number = number;
  return round;
}
inline gossip::Round with_estimate(gossip::Round round) {
  round.flow = {1.5F, -2.0F}, round.estimate = {0.0F, 3.25F};
  return round;
}
inline gossip::Round with_counts(gossip::Round round) {
  round.received = 3, round.beyond = 1ULL << 63, round.partial = 1 << 20, round.offered = 7;
  round.closes = round.asks = true;
  round.order = 8, round.seen = 9, round.sent = 10, round.rate = 15;
  return round;
}

inline std::vector<gossip::Body> sample_bodies() {
  using namespace gossip;
  return {Join{sample_member("node-1")},
          Gossip{},
          Gossip{{{sample_member("node-1")},
                  {sample_member("node-2"), Liveness::suspect, node_id("node-1")}}},
          Table{},
          Table{true, {{sample_member("node-3"), Liveness::left}}},
          Probe{},
          Probe{.kind = Probe::Kind::nack,
                .number = ~0ULL,
                .subject = node_id("node-1"),
                .rumors = {{sample_member("node-1"), Liveness::dead, node_id("node-2")}},
                .ranges = {.epoch = 1ULL << 40, .least = {-1.5F, 0.0F}, .most = {2.0F, 3e38F}}},
          Estimate{},
          Estimate{.round = 7, .flow = {1.5F, -2.0F}, .estimate = {0.0F, 3.25F}},
          Hello{.epoch = 1, .echo = 2, .schema = ~0ULL, .view = 3, .stamps = {1, 2, 3}},
          Bye{"leaving", 7},
          Misdirected{true, {"::1", 7600}, "b"},
          Terms{},
          Terms{true, {{"model.kind", "mlp"}, {"model.hidden", "64,32"}}},
          DialBack{.control = {"10.0.0.2", 7600}},
          DialBack{DialBack::Kind::answer, ~0ULL, {"::1", 7600}, true},
          Digest{},
          Digest{true, {1, ~0ULL, 5}},
          Revoked{},
          Revoked{std::string(300, '\7')},
          Surveys{{node_id("a"), node_id("c")},
                  {{node_id("a"), 0, "x"},
                   {node_id("b"), 1ULL << 40, std::string(300, '\0'), std::string(64, '\7')}}},
          SnapshotRequest{sample_member("node-4")},
          Snapshot{},
          SettingChanges{},
          SettingChanges{true,
                         {{.round = 1ULL << 40,
                           .number = 2,
                           .author = "node-1",
                           .terms = {{"optim.learning-rate", "0.5"}, {"stop.loss", ""}},
                           .certificate = std::string(100, '\1'),
                           .signature = std::string(64, '\7')}}},
          Tally{},
          Tally{Tally::Kind::model, 1ULL << 40, node_id("node-1"), 16},
          Snapshot{.round = 9, .foundation = "abc"},
          Round{},
          with_estimate(round_of({.round = 1ULL << 40, .share = 0.25}, 4)),
          with_counts(
              round_of({.round = 6, .share = 0.25, .span = 0.25, .probe = 7}, 4, 5, 1ULL << 40))};
}

}  // namespace starling::test
