// Exchange by pairs: exact diffusion ends in the optimum however unequal the speeds and whatever is
// lost, on graphs and problems of other shapes than P1.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

struct Case {
  topology::Kind kind;
  std::size_t nodes;
  double straggler, loss;
  int seconds;
};

double error_after(const Case& one) {
  const ReferenceShape shape{.n = one.nodes, .d = 8, .m = 15, .h = 1.5, .noise = .2, .seed = 77};
  optim::Options training = reference_training(0.05);
  training.algorithm = optim::algorithm_named("pairwise-ed");
  sim::Options options = reference_world(one.nodes, one.kind, training);
  options.straggler = one.straggler;
  options.network.loss = one.loss;
  options.base.expect = one.nodes;
  Cluster cluster(options, reference_trainers(training, shape));
  cluster.start_all();
  cluster.world.run_until(Time(one.seconds * 1s));
  return cluster.error();
}

}  // namespace

TEST_CASE(
    "Pairwise exact diffusion ends in the optimum whichever node is slow and whatever is lost") {
  using topology::Kind;
  for (const Case& one : all_or_first<Case>(1, {{Kind::path, 3, 1, .3, 60},
                                                {Kind::ring, 2, 1, .3, 60},
                                                {Kind::ring, 4, 10, 0, 150},
                                                {Kind::complete, 3, 10, 0, 150},
                                                {Kind::ring, 12, 1, .3, 120}})) {
    CAPTURE(one.nodes);
    CAPTURE(one.straggler);
    CAPTURE(one.loss);
    CHECK(error_after(one) <= 1e-9);
  }
}
