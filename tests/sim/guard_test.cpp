// One node, or all of them, with a learning rate that diverges or data that give no numbers: the
// node says so, and the others train on.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/codec/codec.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 16, kSick = 5;
constexpr double kOptimumNorm = 1.91677854441;  // ||x*||

// The reference problem in the numbers of S; where `is_broken` its losses and gradients are none.
template <class S>
class Reference final : public optim::Objective<S> {
 public:
  using Broken = std::function<bool(std::span<const double> x)>;
  Reference(std::size_t node, Broken is_broken)
      : exact_(reference_objective_in<S>({}, node)), is_broken_(std::move(is_broken)) {}
  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override { return exact_->describe(); }
  std::span<const optim::ParameterBlock> blocks() const override { return exact_->blocks(); }
  std::size_t samples() const override { return exact_->samples(); }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override {
    const double loss = exact_->loss_and_gradient(x, batch, gradient);
    for (S& value : gradient) value *= static_cast<S>(broken_factor(x));
    return loss * broken_factor(x);
  }
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override {
    optim::Evaluation evaluation = exact_->evaluate(x, limit);
    evaluation.loss *= broken_factor(x);
    return evaluation;
  }

 private:
  double broken_factor(std::span<const S> x) const {
    const std::vector<double> at(x.begin(), x.end());
    return is_broken_ && is_broken_(at) ? std::numeric_limits<double>::quiet_NaN() : 1;
  }

  std::unique_ptr<optim::Objective<S>> exact_;
  Broken is_broken_;
};

struct Case {
  const optim::AlgorithmRow* algorithm = optim::algorithm_named("dpsgd");
  double rate = 0.1;
  double sick_rate = 0.1;
  Reference<double>::Broken is_broken = nullptr;  // of the sick one
};

template <class S>
sim::TrainerFactory trainers_of(const Case& c) {
  optim::Options training = reference_training(c.rate);
  training.algorithm = c.algorithm;
  training.codec = optim::wire_form_named(sizeof(S) == 4 ? "f32" : "f64");
  return [=](std::size_t node) {
    const bool is_sick = node == kSick;
    optim::Options own = training;
    if (is_sick) own.learning_rate = c.sick_rate;
    return optim::make_trainer<S>(
        own, std::make_unique<Reference<S>>(node, is_sick ? c.is_broken : nullptr), node,
        [] { return Time{}; });
  };
}

std::vector<std::size_t> all_but(std::size_t left_out) {
  std::vector<std::size_t> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), 0U);
  std::erase(nodes, left_out);
  return nodes;
}

std::vector<std::size_t> all() {
  return all_but(kNodes);
}

double distance_between(const std::vector<double>& a, const std::vector<double>& b) {
  double squared = 0;
  for (std::size_t k = 0; k < a.size(); ++k) squared += std::pow(a[k] - b[k], 2);
  return std::sqrt(squared);
}

// max_i ||x_i - x*|| of `nodes`; infinite where a number is none.
template <class World>  // or Lockstep
double farthest(const World& world, const std::vector<std::size_t>& nodes,
                const std::vector<double>& optimum) {
  double most = 0;
  for (const std::size_t node : nodes) {
    const double distance = distance_between(world.trainer(node).parameters(), optimum);
    if (!std::isfinite(distance)) return std::numeric_limits<double>::infinity();
    most = std::max(most, distance);
  }
  return most;
}

template <class S>
Lockstep lockstep_of(const Case& c) {
  optim::Options training = reference_training(0);
  training.algorithm = c.algorithm;
  return {topology::Kind::torus, kNodes, training, trainers_of<S>(c)};
}

// max ||x_i - x*|| over the nodes that are not sick, x* being the optimum of all: at the end of 500
// rounds, or of 100 in the short form, and at worst.
struct Distance {
  double last = 0, worst = 0;
};

Distance train(Lockstep& lockstep) {
  const std::vector<std::size_t> others = all_but(kSick);
  const std::vector<double> optimum = reference_optimum({}, all());
  Distance distance;
  for (int round = 0; round < full_or(500, 100); ++round) {
    lockstep.run(1);
    distance.last = farthest(lockstep, others, optimum);
    distance.worst = std::max(distance.worst, distance.last);
  }
  return distance;
}

bool says(const Lockstep& lockstep, std::size_t node, const std::string& part) {
  const std::optional<std::string>& problem = lockstep.problem(node);
  return problem && problem->find(part) != std::string::npos;
}

template <class S>
Distance train_sick(const Case& c, const std::string& problem) {
  Lockstep lockstep = lockstep_of<S>(c);
  const Distance distance = train(lockstep);
  CHECK(says(lockstep, kSick, problem));
  for (const std::size_t node : all_but(kSick)) CHECK_FALSE(lockstep.problem(node));
  return distance;
}

const optim::AlgorithmRow* const kAlgorithms[] = {
    optim::algorithm_named("dpsgd"), optim::algorithm_named("dpsgd-pipelined"),
    optim::algorithm_named("qg"), optim::algorithm_named("ed"), optim::algorithm_named("gt")};

// Offers what is no number in some rounds, and believes it offered its own.
class Liar final : public optim::Trainer {
 public:
  explicit Liar(std::unique_ptr<optim::Trainer> honest) : honest_(std::move(honest)) {}
  optim::Workload workload() const override { return honest_->workload(); }
  optim::Done run(const optim::Job& job) override {
    optim::Done done = honest_->run(job);
    if (done.offer.empty() || job.round < 10 || job.round >= 20) return done;
    const std::vector<double> lie(done.offer.size() / sizeof(double),
                                  std::numeric_limits<double>::quiet_NaN());
    optim::BufferPool pool;
    done.offer = optim::encode<double>(*optim::format_named("f64"), lie, pool);
    return done;
  }
  std::vector<double> parameters() const override { return honest_->parameters(); }
  std::vector<double> optimum() const override { return honest_->optimum(); }

 private:
  std::unique_ptr<optim::Trainer> honest_;
};

Cluster cluster_of(const optim::AlgorithmRow* algorithm, const sim::TrainerFactory& trainers) {
  optim::Options training = reference_training(0.1);
  training.algorithm = algorithm;
  sim::Options options = reference_world(kNodes, topology::Kind::torus, training);
  options.base.expect = kNodes;
  return {options, trainers};
}

bool is_anything(std::span<const double>) {
  return true;
}

bool is_far_away(std::span<const double> x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) > 1;
}

}  // namespace

TEST_CASE_TEMPLATE("A node that diverges hinders the others no more than one without data", S,
                   float, double) {
  for (const optim::AlgorithmRow* const algorithm : kAlgorithms) {
    CAPTURE(algorithm->name);
    Lockstep sound = lockstep_of<S>({.algorithm = algorithm});
    const Distance without = train(sound);
    const Distance with = train_sick<S>({.algorithm = algorithm, .sick_rate = 1e6},
                                        "; lower optim.learning-rate (now 1000000)");
    // What the data of the sick one are worth.
    const double worth =
        distance_between(reference_optimum({}, all_but(kSick)), reference_optimum({}, all()));
    CHECK(with.last < 1.1 * without.last + worth);
    CHECK(with.worst < 1.5 * kOptimumNorm);
  }
}

TEST_CASE_TEMPLATE("A node that diverges slowly keeps the others within the size of the problem", S,
                   float, double) {
  for (const optim::AlgorithmRow* const algorithm : kAlgorithms)
    for (const double rate : all_or_first(1, {5.0, 8.0, 20.0})) {
      CAPTURE(algorithm->name);
      CAPTURE(rate);
      Lockstep lockstep = lockstep_of<S>({.algorithm = algorithm, .sick_rate = rate});
      const Distance distance = train(lockstep);
      CHECK(distance.last < 2 * kOptimumNorm);
      CHECK(distance.worst < 3 * kOptimumNorm);
      CHECK(farthest(lockstep, {kSick}, reference_optimum({}, all())) < 10 * kOptimumNorm);
      // Its neighbours hold most algorithms at the smaller rates.
      if (rate > 8) CHECK(says(lockstep, kSick, "the loss would rise from "));
    }
}

TEST_CASE_TEMPLATE("Nodes that all diverge stay at bounded numbers and say so", S, float, double) {
  for (const optim::AlgorithmRow* const algorithm : kAlgorithms)
    for (const double rate : all_or_first(1, {30.0, 5.0, 1e6})) {
      CAPTURE(algorithm->name);
      CAPTURE(rate);
      Lockstep lockstep = lockstep_of<S>({.algorithm = algorithm, .rate = rate, .sick_rate = rate});
      CHECK(train(lockstep).worst < 50 * kOptimumNorm);
      const auto refused = std::ranges::count_if(
          all(), [&](std::size_t node) { return says(lockstep, node, "the loss "); });
      // At 5 some would get along if it were not for the others.
      CHECK(refused >= (rate > 5 ? kNodes : 1));
    }
}

TEST_CASE("A node without numbers hinders the others no more than one without data") {
  for (const optim::AlgorithmRow* const algorithm : kAlgorithms) {
    CAPTURE(algorithm->name);
    const std::string problem = "; lower optim.learning-rate (now 0.1)";
    CHECK(train_sick<double>({.algorithm = algorithm, .is_broken = is_anything}, problem).last <
          kOptimumNorm / 5);
    CHECK(train_sick<float>({.algorithm = algorithm, .is_broken = is_far_away}, problem).last <
          kOptimumNorm / 5);
  }
}

TEST_CASE("The exact algorithms solve for the others when a node is refused") {
  using optim::algorithm_named;
  for (const Case& c :
       all_or_first(1, {Case{.algorithm = algorithm_named("ed"), .is_broken = is_anything},
                        Case{.algorithm = algorithm_named("gt"), .is_broken = is_anything},
                        Case{.algorithm = algorithm_named("ed"), .sick_rate = 1e6}})) {
    CAPTURE(c.algorithm->name);
    Lockstep lockstep = lockstep_of<double>(c);
    lockstep.run(full_or<std::uint64_t>(3000, 100));
    if (!tries_full()) continue;
    CHECK(farthest(lockstep, all(), reference_optimum({}, all_but(kSick))) < 1e-10);
  }
}

TEST_CASE("A node that diverges is degraded and says why and the others are not") {
  for (const optim::AlgorithmRow* const algorithm : kAlgorithms) {
    CAPTURE(algorithm->name);
    Cluster cluster =
        cluster_of(algorithm, trainers_of<double>({.algorithm = algorithm, .sick_rate = 1e6}));
    cluster.start_all();
    CHECK(cluster.comes_true([&] { return cluster.round(kSick) >= full_or(50U, 20U); }, 5s));
    for (const std::size_t node : all_but(kSick))
      CHECK(cluster.world.status(node).state == gossip::State::training);
    const gossip::Status status = cluster.world.status(kSick);
    CHECK(status.state == gossip::State::degraded);
    REQUIRE(status.reasons.size() == 2);
    CHECK(status.reasons.back().find("its learning rate is 1e+07 times that of ") == 0);
    CAPTURE(status.reasons.front());
    CHECK(status.reasons.front().find("the loss would rise from ") == 0);
    CHECK(status.reasons.front().find("lower optim.learning-rate (now 1000000)") !=
          std::string::npos);
    // Said once, and not in every round.
    CHECK(std::ranges::count_if(cluster.events, [](const std::string& event) {
            return event.find("lower optim.learning-rate") != std::string::npos;
          }) == 1);
    CHECK(cluster.checker.violations().empty());
  }
}

TEST_CASE("Who sends what is no number leaves nothing behind with the others") {
  for (const optim::AlgorithmRow* const algorithm :
       all_or_first(1, {optim::algorithm_named("ed"), optim::algorithm_named("gt")})) {
    CAPTURE(algorithm->name);
    const sim::TrainerFactory honest = trainers_of<double>({.algorithm = algorithm});
    Cluster cluster = cluster_of(algorithm, [=](std::size_t node) {
      if (node == kSick) return std::unique_ptr<optim::Trainer>(new Liar(honest(node)));
      return honest(node);
    });
    cluster.start_all();
    CHECK(cluster.comes_true([&] { return cluster.round(0) >= full_or(500U, 50U); }, 20s));
    // What the liar averaged and the others did not is between them until their edges end.
    CHECK(farthest(cluster.world, all(), reference_optimum({}, all())) < kOptimumNorm);
    cluster.world.crash(kSick);
    const std::vector<double> optimum = reference_optimum({}, all_but(kSick));
    const auto is_exact = [&] { return farthest(cluster.world, all_but(kSick), optimum) < 1e-10; };
    if (tries_full()) CHECK(cluster.comes_true(is_exact, 120s));
    CHECK(cluster.checker.violations().empty());
  }
}
