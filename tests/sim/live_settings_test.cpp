// Settings that change while nodes run.
#include <doctest/doctest.h>

#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

TEST_CASE("A running node judges its model and saves it as often as it is told to") {
  const optim::Options training = reference_training(0.02);
  sim::Options options = reference_world(4, topology::Kind::ring, training);
  options.base.expect = 4;
  options.base.evaluation = {.every = 1000, .share = 1};
  options.base.checkpoint = {.is_kept = true};
  Cluster cluster(options, training);
  std::size_t evaluations = 0, saves = 0;
  cluster.world.observe([&](std::size_t node, const gossip::Output& output) {
    if (node != 0) return;
    const auto* train = std::get_if<gossip::Train>(&output);
    evaluations += train && train->job.evaluate;
    saves += std::holds_alternative<gossip::Save>(output);
  });
  cluster.start_all();
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) > 40; }, 60s));
  CHECK(evaluations <= 1);
  CHECK(saves == 0);
  cluster.world.tell(0, gossip::ConfigureCommand{.evaluation = {.every = 2, .share = 1},
                                                 .checkpoint_rounds = 4,
                                                 .checkpoint_every = {},
                                                 .text = "eval.every = 2"});
  const std::uint64_t round = cluster.round(0);
  REQUIRE(cluster.comes_true([&] { return cluster.round(0) >= round + 40; }, 60s));
  CHECK(evaluations >= 18);
  CHECK(saves >= 8);
}
