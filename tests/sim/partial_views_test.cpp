// The prototype for more members than can know each other.
#include "sim/partial_views.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

// That all have joined, and have run for so many cycles.
sim::PartialViews views_of(std::size_t nodes, std::uint64_t seed, int cycles) {
  sim::PartialViews views(seed);
  // As many join in a cycle as are there.
  for (std::size_t k = 1; k < nodes; ++k) {
    views.join();
    if ((k & (k + 1)) == 0) views.run_cycle();
  }
  for (int cycle = 0; cycle < cycles; ++cycle) views.run_cycle();
  return views;
}

void kill_half(sim::PartialViews& views, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<sim::PartialViews::Id> all = views.alive();
  prng.shuffle(std::span(all));
  for (std::size_t k = 0; k < all.size() / 2; ++k) views.crash(all[k]);
}

// Cycles until it holds; 100: it does not.
template <class Claim>
int cycles_until(sim::PartialViews& views, Claim claim) {
  int cycles = 0;
  while (cycles < 100 && !claim()) views.run_cycle(), ++cycles;
  return cycles;
}

}  // namespace

TEST_CASE("Nodes that know forty others are one part and find their rings") {
  const std::size_t nodes = full_or<std::size_t>(4'000, 250);
  sim::PartialViews views = views_of(nodes, 1, 0);
  const int found = cycles_until(views, [&] { return views.right_neighbors() == 1; });
  CHECK(found <= 60);
  CHECK(views.largest_part() == nodes);
  const int counted = cycles_until(views, [&] { return views.count_error() < 0.15; });
  CHECK(counted < 100);
  views.take_traffic();
  views.run_cycle();
  const auto traffic = views.take_traffic();
  CHECK(traffic.messages < 40);
  CHECK(traffic.bytes < 8'000);
  CHECK(views.memory_bytes() < 5'000);
  MESSAGE(nodes << " nodes: rings right after " << found << " cycles, counted " << counted
                << " later, " << traffic.messages << " messages and " << traffic.bytes
                << " bytes a node and cycle, " << views.memory_bytes()
                << " bytes of memory, largest share " << views.largest_share() << " of the mean");
}

TEST_CASE("After half of all nodes die at once the others are one part again") {
  const std::size_t nodes = full_or<std::size_t>(4'000, 250);
  for (const std::uint64_t seed : all_or_first<std::uint64_t>(1, {1, 2, 3})) {
    sim::PartialViews views = views_of(nodes, seed, 20);
    kill_half(views, seed);
    const int joined = cycles_until(views, [&] { return views.largest_part() == nodes / 2; });
    CHECK(joined <= 5);
    const int found = joined + cycles_until(views, [&] { return views.right_neighbors() == 1; });
    CHECK(found <= 60);
    const int counted = cycles_until(views, [&] { return views.count_error() < 0.15; });
    CHECK(counted < 100);
    MESSAGE(nodes << " nodes, seed " << seed << ": one part after " << joined
                  << " cycles, rings right after " << found << ", counted " << counted << " later");
  }
}

TEST_CASE("Exact diffusion is exact over the neighbours that the rings give") {
  const std::size_t nodes = full_or<std::size_t>(3'000, 100);
  sim::PartialViews views = views_of(nodes, 1, 0);
  cycles_until(views, [&] { return views.right_neighbors() == 1; });
  topology::Edges edges;
  for (const auto node : views.alive())
    for (const auto other : views.neighbors(node))
      edges.emplace_back(static_cast<int>(node), static_cast<int>(other));
  const topology::Graph graph = topology::undirected(static_cast<int>(nodes), edges);
  CHECK(graph.degrees().most <= 6);
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named("ed");
  Lockstep lockstep(graph, training);
  int rounds = 0;
  for (; rounds < 2'000 && lockstep.error() > 1e-9; rounds += 50) lockstep.run(50);
  CHECK(lockstep.error() <= 1e-9);
  MESSAGE(nodes << " nodes: 1e-9 from the optimum after " << rounds << " rounds");
}

TEST_CASE("A tenth of the nodes that come and go each cycle part nobody") {
  const std::size_t nodes = full_or<std::size_t>(500, 200);
  sim::PartialViews views = views_of(nodes, 5, 20);
  Prng prng(7);
  for (int cycle = 0; cycle < full_or(50, 20); ++cycle) {
    for (std::size_t k = 0; k < nodes / 10; ++k) {
      const auto all = views.alive();
      views.crash(all[prng.below(all.size())]);
      views.join();
    }
    views.run_cycle();
  }
  CHECK(views.largest_part() >= nodes - nodes / 100);
  cycles_until(views, [&] { return views.right_neighbors() == 1; });
  CHECK(views.right_neighbors() == 1);
  CHECK(views.largest_part() == nodes);
}
