// Nodes that nobody can dial, behind NATs: they train as others do, over the connections that they
// open, and are back soon after those are lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "gossip/wire/connection_rules.h"
#include "tests/lengths.h"
#include "tests/sim/battery.h"
#include "tests/sim/cluster.h"
#include "tests/sim/hidden_world.h"
#include "tests/sim/legal_ways.h"
#include "tests/sim/trials.h"
#include "topology/build.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 16;
// With steps of a second the rounds come later than the members agree.
constexpr Duration kHealed = 10s, kHealedSlowly = 15s, kWatched = 20s;
constexpr Duration kRoundAtMost = 2s;

sim::Options world_of(const LegalWay& way, const sim::Hiding& hiding, std::uint64_t seed) {
  return hidden_world(way, kNodes, hiding, seed);
}

// A cluster with what a fault and its healing need.
class Hidden : public Cluster {
 public:
  Hidden(const sim::Options& options, const optim::Options& training) : Cluster(options, training) {
    start_all();
    while (!what_lacks().empty() && world.now() < Time(kHealed)) run(50ms);
    CHECK(what_lacks() == "");
  }

  void run(Duration time) { world.run_until(world.now() + time); }
  void restart(std::size_t node) {
    gossip::Options options = sim::node_options(world.options(), node);
    options.expect = 0;
    world.start(node, options);
  }
  void reboot_nat(std::size_t node) {
    for (const std::size_t lost : sim::behind_nat_of(world.options().hiding, kNodes, node))
      world.drivers().wires().forget(lost);
  }
  // The nodes are cut off from all others for so long, and their connections are lost.
  void cut_off(const std::vector<std::size_t>& nodes, Duration time) {
    for (const std::size_t node : nodes) world.drivers().wires().forget(node);
    world.network().partition(nodes, kNodes);
    run(time);
    world.network().heal();
  }
  // Soon all that run agree, have every edge of the plan and do rounds, and go on so.
  bool heals() {
    const Time begin = world.now();
    Time healed = begin;
    std::string lacks;
    while (world.now() < begin + kWatched) {
      run(50ms);
      const std::string now = what_lacks();
      if (!now.empty()) healed = world.now(), lacks = now;
    }
    const Duration limit = world.options().compute < 1s ? kHealed : kHealedSlowly;
    if (healed - begin > limit) MESSAGE(lacks, " after ", seconds(healed - begin), " s");
    return healed - begin <= limit;
  }
  // Until it is as near to the optimum of all that run as an exact algorithm ends.
  bool becomes_exact() {
    const Duration pause = 20 * world.options().compute;
    for (const Time end = world.now() + 600 * pause; world.now() < end && tries_full();) {
      run(pause);
      if (distance_to_optimum() <= kExactDistance) return true;
    }
    if (tries_full()) MESSAGE("error ", distance_to_optimum(), " in round ", round(0));
    return !tries_full();
  }
  void expect_sound() const {
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }

 private:
  bool has_its_edges(std::size_t node) const {
    const gossip::Status status = world.status(node);
    if (!status.topology.sites) return false;
    const auto& sites = *status.topology.sites;
    const auto self = std::ranges::find(sites, node_id(sim::name_of(node)), &topology::Site::id);
    if (self == sites.end()) return false;
    const auto near = topology::neighbors(*status.topology.options, sites,
                                          static_cast<int>(self - sites.begin()));
    std::set<int> wanted(near->in.begin(), near->in.end());
    wanted.insert(near->out.begin(), near->out.end());
    return status.edges.size() == wanted.size() &&
           std::ranges::all_of(status.edges, [](const gossip::EdgeStatus& edge) {
             return edge.state == gossip::EdgeState::active ||
                    edge.state == gossip::EdgeState::late;
           });
  }
  // Empty: nothing.
  std::string what_lacks() const {
    for (const std::size_t node : world.running()) {
      if (!has_its_edges(node)) return fmt::format("edges of node-{}", node);
      if (progress[node].empty() ||
          world.now() - progress[node].back().at > kRoundAtMost + world.options().compute)
        return fmt::format("rounds of node-{}", node);
    }
    return all_agree() ? "" : "agreement";
  }
  double distance_to_optimum() const {
    const std::vector<std::size_t> nodes = world.running();
    const std::vector<double> optimum = reference_optimum({}, nodes);
    double sum = 0;
    for (const std::size_t node : nodes) {
      const std::vector<double> x = world.trainer(node).parameters();
      if (x.empty()) return std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < optimum.size(); ++k) sum += std::pow(x[k] - optimum[k], 2);
    }
    return std::sqrt(sum / static_cast<double>(nodes.size()));
  }
};

const sim::Hiding kMost{12, 0}, kAllButOne{15, 3};

// Both; in the short form the second.
std::vector<sim::Hiding> hidings() {
  return all_or_first<sim::Hiding>(1, {kAllButOne, kMost});
}

std::uint64_t seeds() {
  const char* given = std::getenv("TEST_SEEDS");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

template <class Play>
void for_seeds(std::string_view algorithm, Play play, Duration step = 50ms) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed)
    for (const sim::Hiding& hiding : hidings()) {
      CAPTURE(seed);
      CAPTURE(hiding.nodes);
      sim::Options options = world_of(way_of(algorithm), hiding, seed);
      options.compute = step;
      Hidden cluster(options, training_of(way_of(algorithm)));
      play(cluster);
      CHECK(cluster.heals());
      CHECK(cluster.becomes_exact());
      cluster.expect_sound();
    }
}

}  // namespace

// TEST_ALL in the environment: with 12 and with 15 of 16 hidden, else by turns.
TEST_CASE("Hidden nodes come to the optimum by every way that others do") {
  std::size_t turn = 0;
  for (const LegalWay& way : legal_ways()) {
    CAPTURE(way.name);
    ++turn;
    for (const sim::Hiding& hiding : {kMost, kAllButOne}) {
      const bool is_its_turn = (turn % 2 == 0) == (hiding == kMost);
      if (!is_its_turn && !std::getenv("TEST_ALL")) continue;
      CAPTURE(hiding.nodes);
      Hidden cluster(world_of(way, hiding, turn), training_of(way));
      if (reaches_optimum(way)) CHECK(cluster.becomes_exact());
      cluster.expect_sound();
    }
  }
}

TEST_CASE("Hidden nodes have all edges of every kind of topology after a NAT was rebooted") {
  for (int k = 0; k < static_cast<int>(topology::Kind::file); ++k) {
    const auto kind = static_cast<topology::Kind>(k);
    CAPTURE(std::string(topology::to_string(kind)));
    for (const sim::Hiding& hiding : hidings()) {
      Hidden cluster(world_of(way_of("dpsgd", kind), hiding, 1), training_of(way_of("dpsgd")));
      cluster.reboot_nat(15);
      CHECK(cluster.heals());
      cluster.expect_sound();
    }
  }
}

TEST_CASE("Edges of hidden nodes are open again soon after their NAT was down") {
  for_seeds("ed", [](Hidden& cluster) {
    cluster.reboot_nat(15);
    CHECK(cluster.heals());
    const auto& options = cluster.world.options();
    cluster.cut_off(sim::behind_nat_of(options.hiding, kNodes, 14), 20s);
  });
}

TEST_CASE("A node that can be dialled is killed and comes back") {
  for_seeds("gt", [](Hidden& cluster) {
    cluster.world.crash(0);
    cluster.run(20s);
    cluster.restart(0);
  });
}

TEST_CASE("A hidden node is killed and comes back") {
  for_seeds("extra", [](Hidden& cluster) {
    cluster.world.crash(15);
    cluster.run(20s);
    cluster.restart(15);
  });
}

TEST_CASE("A hidden node that was away for an hour comes back") {
  for_seeds(
      "ed", [](Hidden& cluster) { cluster.cut_off({15}, full_or(3600s, 60s)); }, 1s);
}

TEST_CASE("The scenario with hidden nodes passes") {
  std::ifstream file(std::string(STARLING_ROOT) + "/configs/scenarios/hidden.txt");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto scenario = sim::parse_scenario(text);
  REQUIRE(scenario);
  const sim::Verdict verdict = sim::try_scenario(quick_trial(), quick_trainers(), *scenario);
  for (const sim::Violation& violation : verdict.violations)
    FAIL_CHECK(sim::to_text(violation, scenario->seed));
  CHECK(verdict.counts.forgotten > 0);
  CHECK(verdict.counts.vanished > 0);
}

TEST_CASE("Chaos with hidden nodes breaks no law") {
  for (std::uint64_t seed = 1; seed <= 2 * seeds(); ++seed) {
    const sim::Hiding hiding = seed % 2 == 0 ? kMost : kAllButOne;
    sim::Options trial = quick_trial(kNodes);
    const sim::Scenario scenario = sim::draw_scenario(seed, kNodes, trial.phases.chaos, hiding);
    const sim::Verdict verdict = sim::try_scenario(trial, quick_trainers(), scenario);
    for (const sim::Violation& violation : verdict.violations)
      FAIL_CHECK(sim::to_text(violation, seed));
  }
}
