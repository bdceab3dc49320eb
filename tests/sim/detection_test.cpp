// How soon all know that a process was killed.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

// From the death of a node until all others know of it.
Duration time_to_know(std::size_t nodes, bool has_keys, std::uint64_t seed) {
  sim::Options options = reference_cluster(nodes, nodes).world.options();
  options.seed = seed;
  options.has_keys = has_keys;
  options.compute = 50ms;
  Cluster cluster(options, optim::Options{});
  cluster.start_all();
  cluster.world.run_until(Time(8s));
  cluster.world.crash(nodes / 2);
  const Time death = cluster.world.now();
  const auto all_know = [&] {
    return std::ranges::all_of(cluster.world.running(), [&](std::size_t node) {
      return cluster.liveness(node, nodes / 2) == gossip::Liveness::dead;
    });
  };
  REQUIRE(cluster.comes_true(all_know, 10s));
  return cluster.world.now() - death;
}

}  // namespace

TEST_CASE("All know of a process that is killed within two seconds") {
  for (const std::size_t nodes : full_or<std::vector<std::size_t>>({4, 16, 64}, {4, 16}))
    for (const bool has_keys : {false, true}) {
      Duration longest{};
      for (std::uint64_t seed = 1; seed <= full_or<std::uint64_t>(3, 1); ++seed)
        longest = std::max(longest, time_to_know(nodes, has_keys, seed));
      CAPTURE(nodes);
      CAPTURE(has_keys);
      CHECK(longest <= 2s);
    }
}
