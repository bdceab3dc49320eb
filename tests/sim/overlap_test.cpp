// With exchange.overlap a part of a vector travels while the trainer takes its next steps.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

optim::Options in_parts(const char* algorithm, std::size_t parts, const char* codec, bool overlap) {
  optim::Options training = reference_training(0.05);
  training.algorithm = optim::algorithm_named(algorithm);
  training.codec = optim::wire_form_named(codec);
  training.codec.coding.parts = parts;
  training.overlap = overlap;
  return training;
}

}  // namespace

TEST_CASE("Parts that travel during the next steps lead to the optimum on every graph") {
  using topology::Kind;
  for (const Kind kind : {Kind::torus, Kind::ring, Kind::star, Kind::complete})
    for (const char* algorithm : {"ed", "gt"})
      for (const std::size_t parts : {2, 5})
        for (const std::size_t steps : {1, 3}) {
          CAPTURE(fmt::format("{}, {} in {} parts, {} steps", topology::to_string(kind), algorithm,
                              parts, steps));
          optim::Options training = in_parts(algorithm, parts, "i4", true);
          training.learning_rate /= static_cast<double>(steps);
          training.local_steps.fixed = steps;
          Lockstep lockstep(kind, training);
          const double before = lockstep.error();
          const std::uint64_t limit = full_or<std::uint64_t>(40'000, 10);
          for (std::uint64_t round = 0; round < limit && !(lockstep.error() < 1e-9); round += 10)
            lockstep.run(10);
          CHECK(lockstep.error() < (tries_full() ? 1e-9 : before));
        }
}

// A step takes 10 ms; a part is under way for about 8.
TEST_CASE("A part that travels during the next steps costs no time") {
  const auto rounds_in = [](bool overlap, double bandwidth) {
    const ReferenceShape shape{.n = 4, .d = 800, .m = 4};
    optim::Options training = in_parts("ed", 4, "f64", overlap);
    training.learning_rate = 0.001;
    sim::Options options = reference_world(shape.n, topology::Kind::ring, training);
    options.base.expect = shape.n;
    options.network = {.bandwidth = bandwidth};
    Cluster cluster(options, reference_trainers(training, shape));
    cluster.start_all();
    cluster.world.run_until(Time(20s));
    return static_cast<double>(cluster.round(0));
  };
  const double bandwidth = 2 * 8 * 800 / 4 / 0.005;
  CHECK(rounds_in(true, bandwidth) > 0.95 * rounds_in(true, 0));
  CHECK(rounds_in(true, bandwidth) > 1.4 * rounds_in(false, bandwidth));
}
