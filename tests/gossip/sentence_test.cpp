// The one sentence on the fleet.
#include "gossip/report/sentence.h"

#include <doctest/doctest.h>

#include <fmt/core.h>

#include <string>

#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

Status fleet_of(std::size_t training, std::size_t finished = 0, std::size_t joining = 0,
                std::size_t paused = 0) {
  Status status;
  status.state = State::training;
  const auto add = [&status](std::size_t count, Phase phase) {
    for (std::size_t k = 0; k < count; ++k) {
      Member member = sample_member("node");
      member.phase = phase;
      status.members.push_back({.member = member});
    }
  };
  add(training, Phase::training);
  add(finished, Phase::finished);
  add(joining, Phase::joining);
  add(paused, Phase::paused);
  return status;
}

void set_loss(Status& status, double mean, std::optional<double> change = {}) {
  status.fleet.spreads[static_cast<std::size_t>(Quantity::loss)] = Spread{.mean = mean};
  status.fleet.loss_change = change;
}

constexpr Time kNow{std::chrono::seconds(1000)};

std::string said(const Status& status) {
  return sentence(status, kNow);
}

void lose(Status& status, std::size_t member, Liveness liveness, Duration ago) {
  status.members[member].liveness = liveness;
  status.members[member].last_heard = kNow - ago;
  status.members[member].member.change(
      [&](Member& changed) { changed.name = fmt::format("node-{}", member); });
}

}  // namespace

TEST_CASE("A fleet that trains is one sentence") {
  Status status = fleet_of(16);
  set_loss(status, 0.1422, -0.3);
  status.fleet.distance = 0.011;
  status.run.end.remaining_s = 250;
  CHECK(said(status) ==
        "16 nodes train, loss 0.1422 falling, models within 1.1 % of their mean, "
        "done in about 4 min");
}

TEST_CASE("Models that are more than ten times as far apart as they are long are apart") {
  Status status = fleet_of(4);
  status.fleet.distance = 1.3e14;
  CHECK(said(status) == "4 nodes train, models apart");
}

TEST_CASE("Relays are not among those who train") {
  Status status = fleet_of(3);
  status.members.front().member.change([](Member& member) { member.role = Role::relay; });
  CHECK(said(status) == "2 nodes train, 1 relay");
}

TEST_CASE("Reasons come first") {
  Status status = fleet_of(2);
  status.reasons = {"going on without node-7: last heard 3.2 s ago, patience 8.0 s"};
  CHECK(said(status) ==
        "going on without node-7: last heard 3.2 s ago, patience 8.0 s; 2 nodes train");
}

TEST_CASE("The sentence counts who trains and has finished and joins") {
  CHECK(said(fleet_of(1)) == "1 node trains");
  CHECK(said(fleet_of(13, 2, 1)) == "13 of 16 nodes train, 2 have finished, 1 joins");
  CHECK(said(fleet_of(1, 0, 0, 2)) == "1 of 3 nodes train, 2 are paused");
  CHECK(said(fleet_of(0, 0, 0, 2)) == "all 2 nodes are paused");
  CHECK(said(fleet_of(0, 4)) == "all 4 nodes have finished");
  CHECK(said(fleet_of(0, 1)) == "the only node has finished");
}

TEST_CASE("Who died or does not answer comes before all else") {
  using namespace std::chrono_literals;
  Status status = fleet_of(4);
  status.reasons = {"paused after round 7"};
  lose(status, 1, Liveness::dead, 20s);
  CHECK(said(status) == "1 of 4 nodes died 20 s ago (node-1); paused after round 7; 3 nodes train");
  lose(status, 2, Liveness::suspect, 3s);
  status.reasons.clear();
  CHECK(said(status) ==
        "1 of 4 nodes died 20 s ago (node-1); 1 of 4 nodes does not answer (node-2); "
        "2 of 3 nodes train");
  lose(status, 2, Liveness::dead, 3min);
  lose(status, 3, Liveness::left, 3s);
  CHECK(said(status) == "2 of 3 nodes died (node-1, node-2), the last 20 s ago; 1 node trains");
  for (const std::size_t member : {1, 2}) lose(status, member, Liveness::dead, 11min);
  CHECK(said(status) == "1 node trains");
}

TEST_CASE("The trend of the loss follows from its change") {
  Status status = fleet_of(2);
  set_loss(status, 1.0, -0.0001);
  CHECK(said(status) == "2 nodes train, loss 1 (level)");
  Status paused = fleet_of(0, 0, 0, 2);
  set_loss(paused, 1.0, -0.5);
  CHECK(said(paused) == "all 2 nodes are paused, loss 1");
  set_loss(status, 1.0, 0.1);
  CHECK(said(status) == "2 nodes train, loss 1 rising");
  set_loss(status, 1.0);
  CHECK(said(status) == "2 nodes train, loss 1");
}

TEST_CASE("A node that has no model yet says what it waits for") {
  Status status = fleet_of(0, 0, 2);
  status.state = State::starting;
  CHECK(said(status) == "this node starts");
  status.reasons = {"waiting for members: 2 of 4 expected"};
  CHECK(said(status) == "waiting for members: 2 of 4 expected");
}

TEST_CASE("A fleet of which no node takes a step does not train") {
  Status status = fleet_of(2);
  status.run.is_idle = true;
  CHECK(said(status) == "2 nodes train");  // nothing is known of the others
  auto& rate = status.fleet.spreads[static_cast<std::size_t>(Quantity::sample_rate)];
  rate = Spread{.mean = 30};
  CHECK(said(status) == "2 nodes train");
  rate = Spread{.mean = 1e-9};
  status.fleet.distance = 0.0001;
  CHECK(said(status) == "none of 2 nodes takes a step");
  status.run.is_idle = false;  // it takes one at the moment
  CHECK(said(status) == "2 nodes train, models within 0.1 % of their mean");
}
