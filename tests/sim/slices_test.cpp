// Schedule `allreduce`: what slices give is what whole vectors give on a complete graph, for every
// algorithm that allows it, and the bytes are fewer.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "tests/sim/cluster.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 5;
constexpr std::uint64_t kRounds = 30;

struct Run {
  std::vector<std::vector<double>> models;  // by node
  std::uint64_t bytes = 0;                  // that all have sent
};

// `way` without faults, on data that differ by node.
Run run(const LegalWay& way, std::string_view format, std::size_t d = 7) {
  optim::Options training = reference_training(0.05);
  training.codec = optim::wire_form_named(format);
  training = training_by(way, training);
  sim::Options options = reference_world(kNodes, topology::Kind::complete, training);
  options.base.schedule = way.schedule;
  options.base.expect = kNodes;
  options.base.goal.rounds = kRounds;
  Cluster cluster(options, reference_trainers(training, {.n = kNodes, .d = d}));
  cluster.start_all();
  cluster.world.run_until(Time(60s));
  Run run;
  for (std::size_t node = 0; node < kNodes; ++node) {
    CHECK(cluster.world.status(node).run.round == kRounds);
    run.models.push_back(cluster.world.trainer(node).parameters());
    for (const gossip::EdgeStatus& edge : cluster.world.status(node).edges)
      run.bytes += edge.sent_bytes;
  }
  for (const sim::Violation& violation : cluster.checker.violations())
    FAIL_CHECK(sim::to_text(violation, 1));
  return run;
}

double distance(const Run& one, const Run& other) {
  double most = 0;
  for (std::size_t node = 0; node < kNodes; ++node)
    for (std::size_t k = 0; k < one.models[node].size(); ++k)
      most = std::max(most, std::abs(one.models[node][k] - other.models[node][k]));
  return most;
}

}  // namespace

TEST_CASE("Slices average as whole vectors do on a complete graph by every algorithm") {
  for (const LegalWay& way : legal_ways()) {
    if (!way.schedule->is_in_slices) continue;
    CAPTURE(way.name);
    LegalWay whole = way;
    whole.schedule = gossip::schedule_named("rounds");
    CHECK(distance(run(way, "f64"), run(whole, "f64")) < 1e-12);
  }
}

// Each sends the parts of all others and the mean of its own slice, each with a word of 8 bytes.
TEST_CASE("A round of slices sends two vectors less two shares") {
  constexpr std::size_t kNumbers = 300;
  const LegalWay way{.name = "dpsgd",
                     .algorithm = optim::algorithm_named("dpsgd"),
                     .schedule = gossip::schedule_named("allreduce"),
                     .kind = topology::Kind::complete};
  const std::size_t numbers = 2 * (kNodes - 1) * kNumbers;  // of all nodes
  const std::size_t messages = 2 * kNodes * (kNodes - 1);
  CHECK(run(way, "f64", kNumbers).bytes == kRounds * 8 * (numbers + messages));
}

TEST_CASE("Models are equal after every round of slices though data differ") {
  const LegalWay way{.name = "dpsgd",
                     .algorithm = optim::algorithm_named("dpsgd"),
                     .schedule = gossip::schedule_named("allreduce"),
                     .kind = topology::Kind::complete};
  const Run last = run(way, "f64");
  for (const std::vector<double>& model : last.models)
    for (std::size_t k = 0; k < model.size(); ++k)
      CHECK(model[k] == doctest::Approx(last.models.front()[k]).epsilon(1e-14));
}
