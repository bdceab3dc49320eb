#include "optim/local/guard.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "optim/trainer.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Calls {
  std::vector<std::uint32_t> drawn;  // the samples of all batches
  std::size_t evaluations = 0, initial_models = 0;
};

// F(x) = ||x - 2||^2 / 2 in two dimensions, and whatever else is wrong with it.
template <class S>
class Bowl final : public Objective<S> {
 public:
  struct Flaws {
    double edge = std::numeric_limits<double>::infinity();  // no number comes from beyond it
    double slope = 1;                                       // of what it calls the gradient
    bool is_blind = false;                                  // its held-out loss is always 0
  };
  explicit Bowl(Calls& calls) : Bowl(calls, Flaws()) {}
  Bowl(Calls& calls, Flaws flaws) : calls_(&calls), flaws_(flaws) {}
  void assign(const Shard&) override {}
  DataSummary describe() const override { return {8, "eight", "bowl"}; }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 8; }
  void initialize(std::span<S> x, std::uint64_t) const override {
    ++calls_->initial_models;
    std::ranges::fill(x, S{0});
  }
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override {
    calls_->drawn.insert(calls_->drawn.end(), batch.begin(), batch.end());
    for (std::size_t i = 0; i < 2; ++i) gradient[i] = static_cast<S>(flaws_.slope) * (x[i] - S{2});
    return loss(x);
  }
  Evaluation evaluate(std::span<const S> x, std::size_t) override {
    ++calls_->evaluations;
    return {0, flaws_.is_blind ? 0 : loss(x), {}, {}};
  }

 private:
  double loss(std::span<const S> x) const {
    double sum = 0;
    for (const S value : x) {
      if (std::abs(static_cast<double>(value)) > flaws_.edge) return kNan;
      sum += 0.5 * std::pow(static_cast<double>(value) - 2, 2);
    }
    return sum;
  }

  std::vector<ParameterBlock> blocks_ = one_block(2);
  Calls* calls_;
  Flaws flaws_;
};

template <class S>
Options options_for(const AlgorithmRow* algorithm, double learning_rate) {
  Options options;
  options.algorithm = algorithm;
  options.learning_rate = learning_rate;
  options.batch_size = 3;
  options.codec = wire_form_named(sizeof(S) == 4 ? "f32" : "f64");
  return options;
}

template <class S>
std::unique_ptr<Trainer> trainer(const Options& options, Calls& calls,
                                 typename Bowl<S>::Flaws flaws = {}) {
  auto made =
      make_trainer<S>(options, std::make_unique<Bowl<S>>(calls, flaws), 1, [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>();
  made->run(job);
  return made;
}

// A round without neighbours.
Done run(Trainer& trainer, std::uint64_t round, std::size_t steps = 1) {
  Job job;
  job.round = round;
  job.absorb = round > 1;
  job.local = job.offer = true;
  job.local_steps = steps;
  return trainer.run(job);
}

bool says(const Done& done, const std::string& part) {
  return done.problem && done.problem->find(part) != std::string::npos;
}

bool is_sound(Guard<double>& guard, const std::vector<double>& x, const std::vector<double>& u,
              double loss) {
  const double length = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
  std::vector<double> moved = x;
  axpy(1.0, u, moved);
  const Guard<double>::Step step{.x = x, .length = length, .loss = loss};
  return !guard.suspects(step) || guard.check(step, moved).has_value();
}

const AlgorithmRow* const kAlgorithms[] = {
    algorithm_named("dpsgd"), algorithm_named("dpsgd-pipelined"),
    algorithm_named("qg"),    algorithm_named("ed"),
    algorithm_named("gt"),    algorithm_named("extra")};
constexpr LocalOptimizerKind kOptimizers[] = {LocalOptimizerKind::sgd, LocalOptimizerKind::momentum,
                                              LocalOptimizerKind::nesterov,
                                              LocalOptimizerKind::adam};

}  // namespace

TEST_CASE_TEMPLATE("A step that would blow up the loss is not taken", S, float, double) {
  for (const AlgorithmRow* const algorithm : kAlgorithms)
    for (const LocalOptimizerKind optimizer : kOptimizers) {
      CAPTURE(algorithm->name);
      CAPTURE(name(optimizer));
      Options options = options_for<S>(algorithm, 1e6);
      options.local_optimizer = optimizer;
      Calls calls;
      const auto sick = trainer<S>(options, calls);
      for (std::uint64_t round = 1; round <= 50; ++round) {
        const Done done = run(*sick, round);
        CHECK(says(done, "the loss would rise from 4 to "));
        CHECK(says(done, fmt::format(" in round {}; lower optim.learning-rate", round)));
        CHECK(says(done, "(now 1000000)"));
        CHECK(sick->parameters() == std::vector<double>{0, 0});
      }
    }
}

TEST_CASE_TEMPLATE("A rate that is slightly too large ends in bounded numbers", S, float, double) {
  for (const AlgorithmRow* const algorithm : kAlgorithms)
    for (const LocalOptimizerKind optimizer : kOptimizers)
      for (const double rate : {3.5, 30.0, 1e3}) {
        // Those whose steps stop growing: qg slows itself down, adam's are as long as the rate.
        if (optimizer == LocalOptimizerKind::adam && rate < 30) continue;
        CAPTURE(algorithm->name);
        CAPTURE(name(optimizer));
        CAPTURE(rate);
        Options options = options_for<S>(algorithm, rate);
        options.local_optimizer = optimizer;
        options.momentum = 0.5;  // heavy ball is stable up to 3
        Calls calls;
        const auto sick = trainer<S>(options, calls);
        bool was_refused = false;
        double farthest = 0;
        for (std::uint64_t round = 1; round <= 300; ++round) {
          was_refused |= says(run(*sick, round, 3), "the loss would rise from ");
          farthest = std::max(farthest, std::abs(sick->parameters()[0] - 2));
        }
        CHECK(was_refused);
        CHECK(farthest < 30);  // F of a hundred times the start, without the unseen last stride
      }
}

TEST_CASE("A node that was refused tries again and goes on once its rate is sound") {
  for (const AlgorithmRow* const algorithm : kAlgorithms)
    for (const LocalOptimizerKind optimizer : kOptimizers) {
      CAPTURE(algorithm->name);
      CAPTURE(name(optimizer));
      Options options = options_for<double>(algorithm, 1e6);
      options.local_optimizer = optimizer;
      options.schedule = *parse_schedule("step:10:1e-8");
      Calls calls;
      const auto node = trainer<double>(options, calls);
      for (std::uint64_t round = 1; round <= 10; ++round) run(*node, round);
      CHECK(node->parameters()[0] == 0);
      CHECK(says(run(*node, 11), "in round 10;"));  // that was not long ago
      run(*node, 12);
      CHECK(node->parameters()[0] > 0);
      for (std::uint64_t round = 13; round < 20; ++round) run(*node, round);
      CHECK_FALSE(run(*node, 20).problem);
    }
}

TEST_CASE("The rate of a round does not count rounds that nobody did") {
  Options options = options_for<double>(algorithm_named("dpsgd"), 0.1);
  options.schedule = *parse_schedule("step:10:0.1");
  Calls calls;
  const auto node = trainer<double>(options, calls);
  const auto rate_of = [&](std::uint64_t round, std::uint64_t uncounted) {
    Job job;
    job.round = round;
    job.uncounted = uncounted;
    job.local = true;
    return node->run(job).stats.learning_rate;
  };
  CHECK(rate_of(10, 0) == 0.1);
  CHECK(rate_of(1'000'010, 1'000'000) == 0.1);
  CHECK(rate_of(1'000'011, 1'000'000) == doctest::Approx(0.01));
  CHECK(rate_of(3, 5) == 0.1);
}

TEST_CASE("A refused step takes its batch as one that is taken") {
  Calls sound, sick;
  const auto one = trainer<double>(options_for<double>(algorithm_named("dpsgd"), 0.1), sound);
  const auto other = trainer<double>(options_for<double>(algorithm_named("dpsgd"), 1e6), sick);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    CHECK_FALSE(run(*one, round).problem);
    CHECK(run(*other, round).problem);
  }
  CHECK(sound.drawn == sick.drawn);
  CHECK(sound.drawn.size() == 60);
}

TEST_CASE("A sound run asks for the loss in its first step only") {
  for (const AlgorithmRow* const algorithm : kAlgorithms) {
    CAPTURE(algorithm->name);
    Calls calls;
    const auto node = trainer<double>(options_for<double>(algorithm, 0.1), calls);
    for (std::uint64_t round = 1; round <= 200; ++round) CHECK_FALSE(run(*node, round).problem);
    CHECK(calls.evaluations <= (algorithm == algorithm_named("qg") ? 5 : 2));  // its momentum grows
    CHECK(calls.initial_models == 1);
  }
}

TEST_CASE_TEMPLATE("No step leads to where there are no numbers", S, float, double) {
  for (const AlgorithmRow* const algorithm : kAlgorithms) {
    CAPTURE(algorithm->name);
    Calls calls;
    // From 0 to 3.8, where it would hear no number any more.
    const auto node = trainer<S>(options_for<S>(algorithm, 1.9), calls, {.edge = 3});
    for (std::uint64_t round = 1; round <= 20; ++round) {
      CHECK(says(run(*node, round), "the loss would rise from 4 to nan"));
      CHECK(node->parameters() == std::vector<double>{0, 0});
    }
  }
}

TEST_CASE("What a loss does not show the size of the numbers does") {
  for (const AlgorithmRow* const algorithm : kAlgorithms)
    for (const double slope : {-1.5, 1e13, 1e17}) {
      CAPTURE(algorithm->name);
      CAPTURE(slope);
      Calls calls;
      const auto node = trainer<float>(options_for<float>(algorithm, 1e3), calls,
                                       {.slope = slope, .is_blind = true});
      Done last;
      for (std::uint64_t round = 1; round <= 100; ++round) {
        last = run(*node, round);
        for (const double value : node->parameters()) CHECK(std::abs(value) < 2e19);
      }
      CHECK(last.problem.has_value());
    }
}

TEST_CASE("Who takes over a good model is held to the loss of the initial one") {
  Calls calls;
  Bowl<double> bowl(calls);
  Guard<double> guard(bowl, 1);
  const std::vector<double> good{2, 2.001};
  CHECK(is_sound(guard, good, {0, -1e-4}, 5e-7));
  CHECK(calls.initial_models == 0);  // to draw it takes long
  CHECK(is_sound(guard, good, {1, 1}, 5e-7));
  CHECK(is_sound(guard, good, {6, 0}, 5e-7));  // 18 < 10 F(0)
  CHECK(calls.initial_models == 1);
  CHECK_FALSE(is_sound(guard, good, {15, 0}, 5e-7));
}

TEST_CASE("Who was ruined by its neighbours may lead back in steps up to its own length") {
  Calls calls;
  Bowl<double> bowl(calls);
  Guard<double> guard(bowl, 1);
  CHECK(is_sound(guard, {0, 0}, {1, 1}, 4));
  const std::vector<double> ruined{1e3, 1e3};
  CHECK(is_sound(guard, ruined, {-2, -2}, 1e6));
  CHECK_FALSE(is_sound(guard, ruined, {2, 2}, 1e6));
  CHECK(is_sound(guard, ruined, {-500, -500}, 1e6));
  CHECK_FALSE(is_sound(guard, ruined, {-1100, -1100}, 1e6));
}
