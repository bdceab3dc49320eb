// Edges that lead one way: sums that lost messages do not change, and an algorithm that is exact.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/prng.h"
#include "optim/combine/running_sums.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "topology/build.h"

using namespace starling;
using namespace starling::test;
using topology::Kind;

namespace {

constexpr int kVertices = 16;

std::string name_of(int vertex) {
  return fmt::format("node-{}", vertex);
}

// A ring, and from each vertex `more` edges to drawn ones.
topology::Options digraph(int vertices, int more) {
  topology::Options options{.kind = Kind::file, .file = "drawn"};
  Prng prng(7);
  for (int from = 0; from < vertices; ++from) {
    options.arcs.emplace_back(name_of(from), name_of((from + 1) % vertices));
    for (int k = 0; k < more; ++k) {
      const auto hop = 2 + static_cast<int>(prng.below(static_cast<std::uint64_t>(vertices) - 2));
      options.arcs.emplace_back(name_of(from), name_of((from + hop) % vertices));
    }
  }
  return options;
}

topology::Graph graph_of(const topology::Options& options, int vertices) {
  std::vector<topology::Site> sites;
  for (int k = 0; k < vertices; ++k) sites.push_back({node_id(name_of(k)), name_of(k)});
  return *topology::build(options, sites);
}

// Push-sum (Kempe, Dobra, Gehrke, Gossip-based computation of aggregate information, 2003): values
// and weights go by running sums over edges that lose messages. Returns the largest distance of a
// value over its weight from the mean.
double push_sum(const topology::Graph& graph, double loss, int rounds) {
  struct Vertex {
    std::vector<double> mass;  // value and weight
    optim::RunningSums<double> sums;
  };
  const auto edge = [&](int from, int to) {
    return static_cast<std::uint64_t>(1 + from * graph.size() + to);
  };
  std::vector<Vertex> all(static_cast<std::size_t>(graph.size()));
  double mean = 0;
  Prng prng(3);
  for (Vertex& vertex : all) {
    vertex.mass = {prng.uniform(), 1};
    mean += vertex.mass[0] / graph.size();
  }
  for (int round = 0; round < rounds; ++round) {
    for (int from = 0; from < graph.size(); ++from) {
      std::vector<optim::EdgePlace> to;
      for (const int peer : graph.out[from]) to.push_back({.edge = edge(from, peer)});
      all[from].sums.give(to, std::span(all[from].mass));
    }
    for (int from = 0; from < graph.size(); ++from)
      for (const int to : graph.out[from])
        if (!prng.chance(loss))
          all[to].sums.take(edge(from, to), all[from].sums.given(edge(from, to)),
                            std::span(all[to].mass));
  }
  double most = 0;
  for (const Vertex& vertex : all)
    most = std::max(most, std::abs(vertex.mass[0] / vertex.mass[1] - mean));
  return most;
}

double distance_from_optimum(const sim::World& world, std::size_t problems) {
  const std::vector<double> optimum = reference_optimum({.n = problems}, world.running());
  double most = 0;
  for (const std::size_t node : world.running())
    most = std::max(most, largest_difference({world.trainer(node).parameters()}, {optimum}));
  return most;
}

sim::Options one_way_world(std::size_t nodes, const topology::Options& graph, double gamma,
                           double loss, optim::Options& training) {
  training = reference_training(gamma);
  training.algorithm = optim::algorithm_named("push-pull");
  sim::Options options = reference_world(nodes, graph.kind, training);
  options.base.topology = graph;
  options.network = {.delay = 2ms, .jitter = 5ms, .loss = loss};
  return options;
}

void expect_lawful(const Cluster& cluster) {
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
}

}  // namespace

TEST_CASE("The mean by running sums is exact where half of all messages are lost") {
  for (const auto& [options, rounds] :
       std::vector<std::pair<topology::Options, int>>{{{.kind = Kind::exponential}, 300},
                                                      {digraph(kVertices, 2), 300},
                                                      {digraph(kVertices, 0), 4000}}) {
    CAPTURE(options.arcs.size());
    CHECK(push_sum(graph_of(options, kVertices), 0, rounds) < 1e-12);
    CHECK(push_sum(graph_of(options, kVertices), .5, rounds) < 1e-12);
  }
}

TEST_CASE("Over edges that lead one way push-pull is exact where half of all messages are lost") {
  struct World {
    topology::Options graph;
    std::size_t nodes;
    double gamma, seconds;
  };
  const std::vector<World> all = {{{.kind = Kind::exponential}, 8, .1, 300},
                                  {digraph(8, 2), 8, .1, 300},
                                  {digraph(5, 0), 5, .02, 2000}};
  for (const World& world : all_or_first(2, all))
    for (const char* schedule : {"async", "ssp", "rounds"}) {
      CAPTURE(world.graph.arcs.size());
      CAPTURE(schedule);
      optim::Options training;
      sim::Options options = one_way_world(world.nodes, world.graph, world.gamma, .5, training);
      options.base.schedule = gossip::schedule_named(schedule);
      options.base.expect = world.nodes;
      Cluster cluster(options, training);
      cluster.start_all();
      const Duration longest = from_seconds(20 * world.seconds);
      CHECK(cluster.comes_true(
          [&] { return distance_from_optimum(cluster.world, world.nodes) < 1e-9; }, longest));
      expect_lawful(cluster);
    }
}

TEST_CASE("Push-pull is exact again after crashes and joins and a return") {
  for (const double loss : {0., .3}) {
    CAPTURE(loss);
    optim::Options training;
    sim::Options options = one_way_world(9, {.kind = Kind::exponential}, .1, loss, training);
    options.base.expect = 8;
    Cluster cluster(options, training);
    for (std::size_t node = 0; node < 8; ++node) cluster.world.start(node);
    const auto arrives = [&] {
      return cluster.comes_true([&] { return distance_from_optimum(cluster.world, 9) < 1e-9; },
                                2000s);
    };
    CHECK(arrives());
    cluster.world.crash(3);
    cluster.world.run_until(cluster.world.now() + 10s);
    CHECK(arrives());
    gossip::Options late = sim::node_options(options, 8);
    late.expect = 0;
    cluster.world.start(8, late);
    cluster.world.run_until(cluster.world.now() + 5s);
    cluster.world.crash(5);
    cluster.world.run_until(cluster.world.now() + 10s);
    CHECK(arrives());
    gossip::Options back = sim::node_options(options, 3);
    back.expect = 0;
    cluster.world.start(3, back);
    cluster.world.tell(1, gossip::LeaveCommand{});
    cluster.world.run_until(cluster.world.now() + 10s);
    CHECK(arrives());
    expect_lawful(cluster);
  }
}
