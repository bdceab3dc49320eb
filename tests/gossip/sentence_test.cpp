// The one sentence on the fleet.
#include "gossip/report/sentence.h"

#include <doctest/doctest.h>

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
      MemberStatus member{.member = sample_member("node")};
      member.member.phase = phase;
      status.members.push_back(member);
    }
  };
  add(training, Phase::training);
  add(finished, Phase::finished);
  add(joining, Phase::joining);
  add(paused, Phase::paused);
  return status;
}

void set_loss(Status& status, double mean, std::optional<double> before = {}) {
  status.fleet.spreads[static_cast<std::size_t>(Quantity::loss)] = Spread{.mean = mean};
  status.fleet.before = before;
}

}  // namespace

TEST_CASE("A fleet that trains is one sentence") {
  Status status = fleet_of(16);
  set_loss(status, 0.1422, 0.2);
  status.fleet.distance = 0.011;
  status.run.remaining_s = 250;
  CHECK(sentence(status) ==
        "16 nodes train, loss 0.1422 falling, models within 1.1 % of their mean, "
        "done in about 4 min");
}

TEST_CASE("Reasons come first") {
  Status status = fleet_of(2);
  status.reasons = {"going on without node-7: last heard 3.2 s ago, patience 8.0 s"};
  CHECK(sentence(status) ==
        "going on without node-7: last heard 3.2 s ago, patience 8.0 s; 2 nodes train");
}

TEST_CASE("The sentence counts who trains and has finished and joins") {
  CHECK(sentence(fleet_of(1)) == "1 node trains");
  CHECK(sentence(fleet_of(13, 2, 1)) == "13 of 16 nodes train, 2 have finished, 1 joins");
  CHECK(sentence(fleet_of(1, 0, 0, 2)) == "1 of 3 nodes train, 2 are paused");
  CHECK(sentence(fleet_of(0, 0, 0, 2)) == "all 2 nodes are paused");
  CHECK(sentence(fleet_of(0, 4)) == "all 4 nodes have finished");
  CHECK(sentence(fleet_of(0, 1)) == "the only node has finished");
  Status status = fleet_of(3);
  status.members.back().liveness = Liveness::dead;
  CHECK(sentence(status) == "2 nodes train");
}

TEST_CASE("The trend of the loss follows from its change") {
  Status status = fleet_of(2);
  set_loss(status, 1.0, 1.0001);
  CHECK(sentence(status) == "2 nodes train, loss 1 level");
  Status paused = fleet_of(0, 0, 0, 2);
  set_loss(paused, 1.0, 2.0);
  CHECK(sentence(paused) == "all 2 nodes are paused, loss 1");
  set_loss(status, 1.0, 0.9);
  CHECK(sentence(status) == "2 nodes train, loss 1 rising");
  set_loss(status, 1.0);
  CHECK(sentence(status) == "2 nodes train, loss 1");
}

TEST_CASE("A node that has no model yet says what it waits for") {
  Status status = fleet_of(0, 0, 2);
  status.state = State::starting;
  CHECK(sentence(status) == "this node starts");
  status.reasons = {"waiting for members: 2 of 4 expected"};
  CHECK(sentence(status) == "waiting for members: 2 of 4 expected");
}
