// The ring closes around those that die: it is connected and doubly stochastic again, and nobody
// waits long.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/lengths.h"
#include "tests/sim/cluster.h"

using namespace starling;
using namespace starling::test;

namespace {

// The weights w_ij of the edges on which vectors pass, as the nodes themselves see them.
std::map<std::pair<NodeId, NodeId>, double> weights_of(const Cluster& cluster) {
  std::map<std::pair<NodeId, NodeId>, double> weights;
  for (std::size_t node : cluster.world.running()) {
    const NodeId self = node_id(sim::name_of(node));
    for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges)
      if (edge.state == gossip::EdgeState::active && edge.weight > 0)
        weights[{self, edge.id}] = edge.weight;
  }
  return weights;
}

// With self taking the rest, symmetric weights that add up to less than one are doubly stochastic.
bool is_doubly_stochastic(const std::map<std::pair<NodeId, NodeId>, double>& weights) {
  std::map<NodeId, double> rows;
  for (const auto& [edge, weight] : weights) {
    const auto back = weights.find({edge.second, edge.first});
    if (back == weights.end() || back->second != weight) return false;
    rows[edge.first] += weight;
  }
  return std::ranges::all_of(rows, [](const auto& row) { return row.second < 1; });
}

std::size_t reached_from(const std::map<std::pair<NodeId, NodeId>, double>& weights) {
  std::set<NodeId> reached = {weights.begin()->first.first};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& [edge, weight] : weights)
      if (reached.contains(edge.first)) reached.insert(edge.second);
  }
  return reached.size();
}

void expect_healing_without(const std::vector<std::size_t>& killed) {
  Cluster cluster = reference_cluster(16, 16);
  cluster.start_all();
  cluster.world.run_until(Time(full_or(20s, 2s)));
  const Time death = cluster.world.now();
  for (std::size_t node : killed) cluster.world.crash(node);
  const auto all_know = [&] {
    for (std::size_t node : cluster.world.running())
      for (std::size_t lost : killed)
        if (cluster.liveness(node, lost) != gossip::Liveness::dead) return false;
    return true;
  };
  REQUIRE(cluster.comes_true(all_know, 10s));
  const std::size_t survivors = 16 - killed.size();
  const auto is_healed = [&] {
    const auto weights = weights_of(cluster);
    return weights.size() == 2 * survivors && is_doubly_stochastic(weights) &&
           reached_from(weights) == survivors;
  };
  CHECK(cluster.comes_true(is_healed, 2s));
  cluster.world.run_until(cluster.world.now() + full_or(5s, 1s));
  CHECK(is_healed());
  for (std::size_t node : cluster.world.running()) {
    CAPTURE(node);
    CHECK(cluster.longest_round(node, death) <= 1s);
  }
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, cluster.world.options().seed));
}

}  // namespace

TEST_CASE("A ring closes around one that is killed") {
  expect_healing_without({5});
}

TEST_CASE("A ring closes around three neighbours that are killed") {
  expect_healing_without({5, 6, 7});
}
