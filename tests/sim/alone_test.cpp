// A node that hears nobody is no fleet: it rests. Thin links and steps of milliseconds, so that a
// vector is under way for longer than many steps would take.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/edges/scheduler.h"
#include "gossip/report/sentence.h"
#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

using optim::algorithm_named;

// A vector takes some 90 ms or 30 ms, and a step 2 ms.
constexpr ReferenceShape kShape{.d = 200, .m = 400};
constexpr double kThin = 20e3, kWider = 60e3;
// As of gossip/edges/schedules/rounds.cpp: who hears later than others of a death catches up.
constexpr std::uint64_t kRoundsInStep = 8;

// Two nodes that have trained for three seconds.
class Pair : public Cluster {
 public:
  Pair(gossip::Missing missing, gossip::Alone alone)
      : Cluster(world_of(missing, alone), reference_training(.05)) {
    start_all();
    world.run_until(Time(3s));
  }

 private:
  static sim::Options world_of(gossip::Missing missing, gossip::Alone alone) {
    sim::Options options = reference_world(2, topology::Kind::ring, reference_training(.05));
    options.base.expect = 2;
    options.base.missing = missing;
    options.base.alone = alone;
    return options;
  }
};

class Thin : public Cluster {
 public:
  Thin(std::size_t nodes, topology::Kind kind, double bandwidth,
       std::string_view schedule = "rounds", const topology::SequenceChoice& sequence = {})
      : Cluster(world_of(nodes, kind, bandwidth, schedule, sequence),
                reference_trainers(training_of(schedule), kShape)) {
    world.observe([this](std::size_t node, const gossip::Output& output) {
      const auto* train = std::get_if<gossip::Train>(&output);
      if (!train || !train->job.local) return;
      alone_[node] = train->job.mix.empty() ? alone_[node] + 1 : 0;
      most_alone = std::max(most_alone, alone_[node]);
      watch_lead(node, *train);
    });
  }
  void begin(const std::vector<std::size_t>& founders) {
    for (const std::size_t node : founders) {
      gossip::Options options = sim::node_options(world.options(), node);
      options.expect = founders.size();
      world.start(node, options);
    }
  }
  // The largest spread of the rounds meanwhile.
  std::uint64_t run(Duration time) {
    std::uint64_t most = 0;
    for (const Time end = world.now() + time; world.now() < end;) {
      world.run_until(world.now() + 10ms);
      std::vector<std::uint64_t> rounds;
      for (const std::size_t node : world.running())
        if (round(node) > 0) rounds.push_back(round(node));
      if (rounds.empty()) continue;
      const auto [least, highest] = std::ranges::minmax(rounds);
      most = std::max(most, highest - least);
    }
    return most;
  }
  bool becomes_exact() {
    const std::vector<double> optimum = reference_optimum(kShape, world.running());
    return comes_true(
        [&] {
          return std::ranges::all_of(world.running(), [&](std::size_t node) {
            return sim::distance(world.trainer(node).parameters(), optimum) < 1e-6;
          });
        },
        20min);
  }
  void expect_sound() {
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }

  std::uint64_t most_alone = 0;  // steps in a row between which a node averaged with nobody
  // Of such steps: rounds before the furthest neighbour, and those in a row while no edge has
  // carried a vector.
  std::uint64_t most_ahead = 0, most_unheard = 0;

 private:
  void watch_lead(std::size_t node, const gossip::Train& train) {
    std::uint64_t furthest = 0;
    for (const gossip::EdgeStatus& edge : world.status(node).edges)
      furthest = std::max(furthest, edge.round);
    const std::uint64_t round = train.job.round;
    // Over a sequence of graphs, the edges that the node averaged over before may have closed
    // since.
    const bool moves = world.options().base.topology.sequence.moves();
    if (alone_[node] > 0 && furthest > 0 && round > furthest)
      most_ahead =
          std::max(most_ahead, std::min(round - furthest, moves ? alone_[node] : UINT64_MAX));
    unheard_[node] = alone_[node] > 0 && furthest == 0 ? unheard_[node] + 1 : 0;
    most_unheard = std::max(most_unheard, unheard_[node]);
  }
  static optim::Options training_of(std::string_view schedule) {
    optim::Options training = reference_training(.05);
    training.algorithm = algorithm_named(schedule == "pairwise"    ? "pairwise-ed"
                                         : schedule == "allreduce" ? "dpsgd"
                                                                   : "ed");
    return training;
  }
  static sim::Options world_of(std::size_t nodes, topology::Kind kind, double bandwidth,
                               std::string_view schedule,
                               const topology::SequenceChoice& sequence) {
    sim::Options options = reference_world(nodes, kind, training_of(schedule));
    options.base.schedule = gossip::schedule_named(schedule);
    options.base.topology.sequence = sequence;
    options.compute = 2ms;
    options.network.bandwidth = bandwidth;
    return options;
  }

  std::vector<std::uint64_t> alone_ = std::vector<std::uint64_t>(world.options().nodes);
  std::vector<std::uint64_t> unheard_ = alone_;
};

const std::vector<std::size_t> kEven = {0, 2, 4}, kOdd = {1, 3, 5}, kSix = {0, 1, 2, 3, 4, 5};

}  // namespace

TEST_CASE("A ring of three that becomes six by new edges alone goes on in step to the optimum") {
  for (const double bandwidth : {kThin, kWider}) {
    CAPTURE(bandwidth);
    Thin cluster(6, topology::Kind::ring, bandwidth);
    cluster.begin(kEven);
    CHECK(cluster.run(5s) <= 2);
    for (const std::size_t node : kOdd) cluster.world.start(node);
    CHECK(cluster.run(15s) <= 2);
    CHECK(cluster.round(1) + 1 >= cluster.round(0));
    CHECK(cluster.most_alone <= 2);
    CHECK(cluster.becomes_exact());
    cluster.expect_sound();
  }
}

TEST_CASE("A ring that half of its nodes leave goes on in step to the optimum of the others") {
  for (const bool leaves : {false, true}) {
    CAPTURE(leaves);
    Thin cluster(6, topology::Kind::ring, kThin);
    cluster.begin(kSix);
    CHECK(cluster.run(5s) <= 2);
    for (const std::size_t node : kOdd)
      leaves ? cluster.world.tell(node, gossip::LeaveCommand{}) : cluster.world.crash(node);
    CHECK(cluster.run(30s) <= 2);
    CHECK(cluster.most_alone <= kRoundsInStep);
    CHECK(cluster.becomes_exact());
    cluster.expect_sound();
  }
}

TEST_CASE("The ends of a path and the leaves of a star go on in step when the middle dies") {
  for (const topology::Kind kind : {topology::Kind::path, topology::Kind::star}) {
    const bool is_path = kind == topology::Kind::path;
    CAPTURE(is_path);
    Thin cluster(is_path ? 3 : 6, kind, is_path ? kThin : kWider);
    cluster.begin(is_path ? std::vector<std::size_t>{0, 1, 2} : kSix);
    CHECK(cluster.run(5s) <= 2);
    cluster.world.crash(is_path ? 1 : 0);
    CHECK(cluster.run(30s) <= 2);
    CHECK(cluster.most_alone <= kRoundsInStep);
    CHECK(cluster.becomes_exact());
    cluster.expect_sound();
  }
}

TEST_CASE("Under no schedule does a node whose edges are all new train before one has carried") {
  std::size_t place = 0;
  for (const Rhythm& rhythm : rhythms()) {
    if (place++ % 2 > 0 && !tries_full()) continue;  // in the short form every other rhythm
    const gossip::ScheduleRow& row = *rhythm.schedule;
    CAPTURE(rhythm.name);
    const auto kind =
        row.is_in_slices || rhythm.sequence.moves() ? rhythm.kind : topology::Kind::ring;
    Thin cluster(6, kind, kThin, row.name, rhythm.sequence);
    cluster.begin(kEven);
    cluster.run(5s);
    for (const std::size_t node : kOdd) cluster.world.start(node);
    cluster.run(10s);
    for (const std::size_t node : kEven) cluster.world.crash(node);
    cluster.run(30s);
    CHECK(cluster.round(1) > cluster.round(0));
    CHECK(cluster.most_unheard <= 4);
    // A node that two others exchange without, as in a matching, is alone for longer.
    const bool is_in_step = row.make(cluster.world.options().base)->rules().rounds_in_step > 0;
    // Where nodes rest, rounds ahead are counted in turns, here one of three of the six.
    const bool rests = rhythm.sequence.moves() && rhythm.sequence.row->rests;
    const std::uint64_t turn = rests ? 6 / static_cast<std::uint64_t>(rhythm.sequence.size) : 1;
    CHECK((is_in_step ? cluster.most_ahead / turn : cluster.most_alone) <= kRoundsInStep);
    cluster.expect_sound();
  }
}

TEST_CASE("Six nodes that twelve join at once send no vector twice") {
  Thin cluster(18, topology::Kind::ring, kThin);
  std::vector<std::size_t> founders;
  for (std::size_t node = 0; node < 18; node += 3) founders.push_back(node);
  cluster.begin(founders);
  cluster.run(5s);
  for (std::size_t node = 0; node < 18; ++node)
    if (node % 3 > 0) cluster.world.start(node);
  CHECK(cluster.run(30s) <= 9);
  CHECK(cluster.most_alone <= 2);
  cluster.expect_sound();
}

TEST_CASE("A node that is cut off rests until it is back and says for whom it waits") {
  Thin cluster(6, topology::Kind::ring, 0);
  cluster.begin(kSix);
  cluster.run(5s);
  cluster.world.network().partition(std::vector<std::size_t>{0}, 6);
  cluster.run(full_or(60s, 20s));
  const gossip::Status status = cluster.world.status(0);
  CHECK(status.is_alone);
  CHECK(status.state == gossip::State::degraded);
  const auto says = [](const std::string& reason) {
    return reason.starts_with("alone for ") &&
           reason.ends_with(" s: waits for node-1, node-2, node-3, node-4, …");
  };
  CHECK(std::ranges::any_of(status.reasons, says));
  CHECK(cluster.round(0) < cluster.round(1));
  CHECK(cluster.most_alone <= 2);
  cluster.world.network().heal();
  CHECK(cluster.comes_true([&] { return cluster.round_spread() <= 2; }, 10s));
  CHECK_FALSE(cluster.world.status(0).is_alone);
  CHECK(cluster.most_ahead <= 2);
  CHECK(cluster.becomes_exact());
}

TEST_CASE(
    "Two nodes cut off from each other rest and go on together after a short cut and a long") {
  for (const gossip::Missing missing : {gossip::Missing::late, gossip::Missing::reuse})
    for (const Duration cut : {Duration(100ms), Duration(9s), Duration(5min)}) {
      CAPTURE(seconds(cut));
      Pair cluster(missing, gossip::Alone::rest);
      cluster.world.network().partition(std::vector<std::size_t>{0}, 2);
      cluster.world.run_until(cluster.world.now() + cut);
      const std::uint64_t rested = cluster.round(0);
      cluster.world.network().heal();
      CHECK(cluster.comes_true([&] { return cluster.round(0) > rested + 50; }, 15s));
      CHECK(cluster.round_spread() <= 1);
      CHECK(rested <= 305);
    }
}

TEST_CASE("Who is left when all others have left trains on alone") {
  Thin cluster(3, topology::Kind::ring, 0);
  cluster.begin({0, 1, 2});
  cluster.run(3s);
  cluster.world.tell(0, gossip::LeaveCommand{});
  cluster.world.tell(1, gossip::LeaveCommand{});
  cluster.run(2s);
  const std::uint64_t round = cluster.round(2);
  cluster.run(5s);
  CHECK(cluster.round(2) > round + 100);
}

TEST_CASE("Who is left when all others have died rests where it may not train alone") {
  for (const gossip::Alone alone : {gossip::Alone::rest, gossip::Alone::train}) {
    const bool trains = alone == gossip::Alone::train;
    Pair cluster(gossip::Missing::late, alone);
    cluster.world.crash(0);
    cluster.world.run_until(Time(60s));
    CHECK((cluster.round(1) > 1000) == trains);
    CHECK(cluster.world.status(1).is_alone != trains);
    // It gives its model to who joins, and goes on with it.
    gossip::Options newcomer = sim::node_options(cluster.world.options(), 0);
    newcomer.expect = 0;
    newcomer.seeds = {sim::control_of(1)};
    cluster.world.start(0, newcomer);
    const std::uint64_t before = cluster.round(1);
    CHECK(cluster.comes_true([&] { return cluster.round(1) > before + 50; }, 10s));
    CHECK(cluster.round_spread() <= 1);
  }
}

TEST_CASE("A node of another topology rests beside a fleet and no sentence counts it") {
  Thin cluster(4, topology::Kind::ring, 0);
  cluster.begin({0, 1, 2});
  cluster.world.run_until(Time(3s));
  gossip::Options other = sim::node_options(cluster.world.options(), 3);
  other.topology.kind = topology::Kind::complete;
  cluster.world.start(3, other);
  cluster.world.run_until(Time(30s));
  const Time now = cluster.world.now();
  const gossip::Status own = cluster.world.status(3), fleet = cluster.world.status(0);
  CHECK(own.is_alone);
  CHECK(own.run.steps <= 1);
  CHECK(cluster.round(0) > 1000);
  CHECK(gossip::sentence(own, now).find("train") == std::string::npos);
  CHECK(gossip::sentence(fleet, now).find("3 of 4 nodes train") != std::string::npos);
}
