#include "optim/local/learner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/local/local_learner.h"
#include "optim/trainer.h"
#include "tests/optim/allocations.h"

using namespace starling;
using namespace starling::optim;

namespace {

using Vector = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// F(x) = (a / 2) ||x - target||^2
struct Bowl {
  double a = 1, target = 0;
  bool has_closed_form = false;

  double loss(std::span<const double> x) const {
    double sum = 0;
    for (const double value : x) sum += a / 2 * (value - target) * (value - target);
    return sum;
  }
};

const std::vector<ParameterBlock> kBlocks = {{"left", {1}, 0}, {"right", {1, 2}, 1}};

// The seam by hand: the equations of learner.h as they stand there, with sgd.
class HandLearner final : public Learner<double> {
 public:
  explicit HandLearner(Bowl bowl) : bowl_(bowl) {}

  std::span<const ParameterBlock> blocks() const override { return kBlocks; }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 0.0); }
  Report advance(std::span<const double> begin, const LocalSteps<double>& steps,
                 const Moves<double>& to) override {
    Vector x(begin.begin(), begin.end());
    Report report{.loss = bowl_.loss(x), .batch_samples = 1};
    const bool is_solved = steps.is_exact && bowl_.has_closed_form;
    std::ranges::fill(to.direction, 0.0);
    for (std::size_t k = 0; k < (is_solved ? 1 : steps.count); ++k)
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = is_solved ? minimum(steps, i) : stepped(steps, to, x[i], i);
    for (std::size_t i = 0; i < to.sum.size(); ++i) to.sum[i] = x[i] - begin[i];
    std::ranges::copy(std::span(x).first(to.end.size()), to.end.begin());
    return report;
  }
  Evaluation evaluate(std::span<const double> x, std::size_t) override {
    return {0, bowl_.loss(x), {}, {}};
  }

 private:
  static double at(std::span<const double> vector, std::size_t i) {
    return vector.empty() ? 0 : vector[i];
  }
  double minimum(const LocalSteps<double>& steps, std::size_t i) const {
    return (bowl_.a * bowl_.target - at(steps.linear, i) + steps.mu * at(steps.anchor, i)) /
           (bowl_.a + steps.mu);
  }
  double stepped(const LocalSteps<double>& steps, const Moves<double>& to, double x,
                 std::size_t i) const {
    double d =
        bowl_.a * (x - bowl_.target) + at(steps.linear, i) + steps.mu * (x - at(steps.anchor, i));
    for (const auto& [factor, values] : steps.added) d += factor * values[i];
    if (!to.direction.empty()) to.direction[i] += d / static_cast<double>(steps.count);
    double u = -steps.learning_rate * d;
    for (const auto& [factor, values] : steps.correction)
      u += steps.learning_rate * factor * values[i];
    return x + u;
  }

  Bowl bowl_;
};

// The same function by its gradients.
class BowlObjective final : public Objective<double> {
 public:
  explicit BowlObjective(Bowl bowl, std::size_t samples = 4) : bowl_(bowl), samples_(samples) {}

  void assign(const Shard&) override {}
  DataSummary describe() const override { return {samples_, "all", "bowl"}; }
  std::span<const ParameterBlock> blocks() const override { return kBlocks; }
  std::size_t samples() const override { return samples_; }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 0.0); }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t> batch,
                           std::span<double> gradient) override {
    for (const std::uint32_t sample : batch) drawn.push_back(sample);
    for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = bowl_.a * (x[i] - bowl_.target);
    return bowl_.loss(x);
  }
  bool minimize(std::span<const double> c, double mu, std::span<double> x) override {
    if (!bowl_.has_closed_form) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (bowl_.a * bowl_.target - c[i]) / (bowl_.a + mu);
    return true;
  }
  Evaluation evaluate(std::span<const double> x, std::size_t) override {
    ++evaluations;
    return {0, bowl_.loss(x), {}, {}};
  }

  std::vector<std::uint32_t> drawn;  // the samples of all batches
  std::size_t evaluations = 0;

 private:
  Bowl bowl_;
  std::size_t samples_;
};

Options options_for(const AlgorithmRow& row, std::size_t local_steps = 1) {
  Options options;
  options.algorithm = &row;
  options.learning_rate = 0.1;
  options.local_steps.fixed = local_steps;
  options.batch_size = 0;
  options.codec = wire_form_named("f64");
  options.penalty = 0.5;
  return options;
}

LocalLearner<double> learner(Bowl bowl, const Options& options, std::size_t samples = 4) {
  return {options, std::make_unique<BowlObjective>(bowl, samples), 1};
}

// Two nodes that average with each other in every round.
class Pair {
 public:
  Pair(const Options& options, Learner<double>& first, Learner<double>& second)
      : options_(options), learners_{&first, &second} {
    const Vector x(first.dimension());
    for (auto& algorithm : algorithms_)
      algorithm = make_algorithm<double>(options, x, std::make_shared<BufferPool>());
  }
  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const std::size_t node : {0, 1}) {
        algorithms_[node]->follow({kEdges});
        const bool overlaps = options_.algorithm->needs.overlaps;
        if (!overlaps) step(node);
        const EdgePlace place{.edge = kEdges.front()};
        offers_[node] = algorithms_[node]->offer({&place, 1});
        if (overlaps) step(node);
      }
      for (const std::size_t node : {0, 1}) {
        const MixTerm term = term_of(node);
        CHECK(algorithms_[node]->absorb({&term, 1}, true).rejections.empty());
      }
    }
  }
  Vector model(std::size_t node) const {
    const std::span<const double> x = algorithms_[node]->model();
    return {x.begin(), x.end()};
  }

 private:
  static constexpr std::array<std::uint64_t, 1> kEdges = {7};

  void step(std::size_t node) {
    CHECK(algorithms_[node]
              ->local(*learners_[node], {*options_.local_steps.fixed, options_.learning_rate})
              .refusal.empty());
  }
  MixTerm term_of(std::size_t node) const {
    const Offer &own = offers_[node], &theirs = offers_[1 - node];
    const bool is_own_each = !theirs.of_edge.empty();
    return {.peer = NodeId{2},
            .weight = 0.5,
            .theirs = is_own_each ? theirs.of_edge.front().payload : theirs.vector,
            .own = own.vector,
            .edge = kEdges.front(),
            .span = options_.learning_rate * static_cast<double>(*options_.local_steps.fixed)};
  }

  Options options_;
  std::array<Learner<double>*, 2> learners_;
  std::array<std::unique_ptr<Algorithm<double>>, 2> algorithms_;
  std::array<Offer, 2> offers_;
};

double distance(const Vector& a, const Vector& b) {
  return std::sqrt(squared_distance(std::span<const double>(a), std::span<const double>(b)));
}

// Runs `test` with every algorithm, by one step and by several, with closed form and without.
template <class Test>
void for_cases(Test test) {
  for (const AlgorithmRow& row : algorithms())
    for (const std::size_t local_steps : {1, 3})
      for (const bool has_closed_form : {false, true}) {
        CAPTURE(row.name);
        CAPTURE(local_steps);
        CAPTURE(has_closed_form);
        test(options_for(row, local_steps), Bowl{1, 1, has_closed_form},
             Bowl{3, 3, has_closed_form});
      }
}

}  // namespace

TEST_CASE("Every algorithm makes the same of a learner by hand and of the local one") {
  for_cases([](const Options& options, Bowl one, Bowl other) {
    HandLearner by_hand(one), other_by_hand(other);
    LocalLearner<double> local = learner(one, options), other_local = learner(other, options);
    Pair expected(options, by_hand, other_by_hand), found(options, local, other_local);
    for (int round = 0; round < 20; ++round) {
      expected.run(1);
      found.run(1);
      for (const std::size_t node : {0, 1})
        CHECK(distance(expected.model(node), found.model(node)) < 1e-13);
    }
    CHECK(distance(found.model(0), Vector(3)) > 1);
  });
}

TEST_CASE("Every exact algorithm ends in the optimum of all with a learner by hand") {
  for_cases([](const Options& options, Bowl one, Bowl other) {
    if (!options.algorithm->is_exact) return;
    HandLearner first(one), second(other);
    Pair pair(options, first, second);
    pair.run(500);
    // argmin (x - 1)^2 + 3 (x - 3)^2
    for (const std::size_t node : {0, 1}) CHECK(distance(pair.model(node), Vector(3, 2.5)) < 1e-9);
  });
}

TEST_CASE("A trainer runs with a learner by hand and with data that are no part of it") {
  BowlObjective data({});
  const Options options = options_for(*algorithm_named("dpsgd"), 2);
  const auto trainer = make_trainer<double>(options, std::make_unique<HandLearner>(Bowl{1, 1}),
                                            data, [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>();
  const Done done = trainer->run(job);
  CHECK(done.workload->schema == "bowl");
  CHECK(done.workload->payload_bytes == 24);
  Job step;
  step.round = 1;
  step.local = step.evaluate = true;
  step.local_steps = 2;
  CHECK(trainer->run(step).evaluation->loss == 1.5);
  CHECK(distance(trainer->parameters(), Vector(3, 0.19)) < 1e-15);
}

TEST_CASE("The linear and the proximal term move the minimum as they should") {
  // min (x-1)^2/2 + c x + mu/2 (x-v)^2 is at (1 - c + mu v) / (1 + mu).
  const Vector c(3, 0.5), v(3, 2.0);
  const Vector minimum(3, (1 - 0.5 + 3 * 2.0) / 4);
  for (const bool is_exact : {false, true}) {
    LocalLearner<double> bowl = learner({1, 1, is_exact}, options_for(*algorithm_named("dpsgd")));
    Vector x(3);
    const LocalSteps<double> steps{.count = 200,
                                   .learning_rate = 0.2,
                                   .linear = c,
                                   .anchor = v,
                                   .mu = 3,
                                   .is_exact = is_exact};
    const Report report = bowl.advance(x, steps, {.end = x});
    CHECK(report.refusal.empty());
    CHECK(report.batch_samples == 4);
    CHECK(distance(x, minimum) < 1e-14);
  }
}

TEST_CASE("The weight decay is part of the gradient and of the closed form") {
  Options options = options_for(*algorithm_named("dpsgd"));
  options.weight_decay = 3;
  for (const bool is_exact : {false, true}) {
    Vector x(3);
    const LocalSteps<double> steps{.count = 200, .learning_rate = 0.2, .is_exact = is_exact};
    learner({1, 1, is_exact}, options).advance(x, steps, {.end = x});
    CHECK(distance(x, Vector(3, 0.25)) < 1e-14);  // argmin (x - 1)^2 + 3 x^2
  }
}

TEST_CASE("The end and the sum and the last direction of the steps belong together") {
  Options options = options_for(*algorithm_named("dpsgd"));
  const Vector begin = {1, -2, 3}, added = {5, 6, 7}, correction = {0.1, 0.2, 0.3};
  const Scaled<double> half{0.5, added}, twice{2, correction};
  for (const LocalOptimizerKind kind : {LocalOptimizerKind::sgd, LocalOptimizerKind::nesterov})
    for (const bool is_plain : {false, true})
      for (const std::size_t count : {1, 2, 4}) {
        options.local_optimizer = kind;
        const LocalSteps<double> steps{.count = count,
                                       .learning_rate = 0.1,
                                       .added = {&half, 1},
                                       .correction = {&twice, count == 2 ? 0U : 1U},
                                       .is_plain = is_plain};
        // Each way to ask, from the same start.
        Vector in_place = begin, end(3), sum(3, 9), sum_alone(3, 9), direction(3);
        learner({}, options).advance(in_place, steps, {.end = in_place});
        const Vector x = begin;
        learner({}, options).advance(x, steps, {.end = end, .sum = sum, .direction = direction});
        learner({}, options).advance(x, steps, {.sum = sum_alone});
        CHECK(x == begin);
        CHECK(end == in_place);
        CHECK(sum == sum_alone);
        for (std::size_t i = 0; i < 3; ++i) CHECK(sum[i] == doctest::Approx(end[i] - begin[i]));
        if (count > 1) continue;
        for (std::size_t i = 0; i < 3; ++i) {
          CHECK(direction[i] == doctest::Approx(begin[i] + 0.5 * added[i]));
          if (is_plain || kind == LocalOptimizerKind::sgd)
            CHECK(end[i] == doctest::Approx(begin[i] + 0.1 * (2 * correction[i] - direction[i])));
        }
      }
}

TEST_CASE("A refused step is the last one or counts as none") {
  const Vector correction(3, 0.25);
  const Scaled<double> owed{0x1p-30, correction};
  // Of a gradient that is no number, and of a step that the guard does not take.
  for (const Bowl bowl : {Bowl{kNan, 1}, Bowl{1, 1}}) {
    LocalLearner<double> sick = learner(bowl, options_for(*algorithm_named("dpsgd")));
    LocalSteps<double> steps{.count = 3, .learning_rate = 0x1p30, .correction = {&owed, 1}};
    const Vector x(3, 0.0);
    Vector end(3, 9.0), sum(3, 9.0);
    CHECK_FALSE(sick.advance(x, steps, {.end = end, .sum = sum}).refusal.empty());
    CHECK(end == x);
    CHECK(sum == x);
    steps.goes_on = true;
    CHECK_FALSE(sick.advance(x, steps, {.end = end, .sum = sum}).refusal.empty());
    CHECK(end == x);
    CHECK(sum == x);
    // After thirty in a row it moves by corrections alone, as a node without samples.
    steps.count = 30;
    CHECK_FALSE(sick.advance(x, steps, {.end = end, .sum = sum}).refusal.empty());
    CHECK(end == Vector(3, 0.75));
    CHECK(sum == end);
    // It is well again with a rate that is sound.
    steps.learning_rate = 0.1;
    CHECK(sick.advance(x, steps, {.end = end}).refusal.empty() == std::isfinite(bowl.a));
  }
}

TEST_CASE("A node without samples moves by terms and corrections alone") {
  Options options = options_for(*algorithm_named("dpsgd"));
  options.local_optimizer = LocalOptimizerKind::momentum;
  LocalLearner<double> empty = learner({1, 1}, options, 0);
  const Vector x = {1, 2, 3}, c(3, 2.0);
  const Scaled<double> term{1, c};
  Vector end(3);
  CHECK(empty.advance(x, {.learning_rate = 0.5}, {.end = end}).batch_samples == 0);
  CHECK(end == x);
  empty.advance(x, {.learning_rate = 0.5, .correction = {&term, 1}}, {.end = end});
  CHECK(end == Vector{2, 3, 4});
  empty.advance(x, {.learning_rate = 0.5, .linear = c}, {.end = end});
  CHECK(end == Vector{0, 1, 2});
  // Its momentum goes on where there is a direction, if only of zero, and rests where there is
  // none.
  empty.advance(x, {.learning_rate = 0.5}, {.end = end});
  CHECK(end == x);
  Vector direction(3, 9);
  empty.advance(x, {.learning_rate = 0.5}, {.end = end, .direction = direction});
  CHECK(direction == Vector(3));
  for (std::size_t i = 0; i < 3; ++i) CHECK(end[i] == doctest::Approx(x[i] - 0.9));
  // The minimum of <c, x> + (mu / 2) ||x||^2, which needs no sample.
  empty.advance(x, {.linear = c, .mu = 4, .is_exact = true}, {.end = end});
  CHECK(end == Vector(3, -0.5));
}

TEST_CASE("Weight decay does not move a node without samples") {
  Options options = options_for(*algorithm_named("admm"));
  options.weight_decay = 4;
  LocalLearner<double> empty = learner({1, 1}, options, 0);
  const Vector x(3, 1.0), c(3, 2.0);
  Vector end(3);
  for (const bool is_exact : {false, true}) {
    empty.advance(x, {.learning_rate = 0.25, .linear = c, .mu = 4, .is_exact = is_exact},
                  {.end = end});
    CHECK(end == Vector(3, -0.5));
  }
}

TEST_CASE("The direction of several steps is the mean of what they were taken for") {
  const Options options = options_for(*algorithm_named("gt"));
  LocalLearner<double> local = learner({1, 1}, options);
  const Vector c(3, 2.0);
  const Scaled<double> added{1, c};
  Vector end(3), direction(3, 9);
  local.advance(Vector(3), {.count = 4, .learning_rate = 0.1, .added = {&added, 1}},
                {.end = end, .direction = direction});
  // With sgd the steps are what the direction says: end - x = - count gamma direction.
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(end[i] == doctest::Approx(-0.4 * direction[i]).epsilon(1e-14));
    CHECK(direction[i] == doctest::Approx((1 + .9 + .81 + .729) / 4).epsilon(1e-14));
  }
}

TEST_CASE("The weight decay of adamw is no part of the gradient") {
  Options options = options_for(*algorithm_named("dpsgd"));
  options.local_optimizer = LocalOptimizerKind::adam;
  LocalLearner<double> plain = learner({1, 0}, options);
  options.weight_decay = 0.5;
  LocalLearner<double> coupled = learner({1, 0}, options);
  options.local_optimizer = LocalOptimizerKind::adamw;
  LocalLearner<double> decoupled = learner({1, 0}, options);
  const Vector x = {1, 2, 4};
  Vector end(3), decayed(3);
  plain.advance(x, {.learning_rate = 0.1}, {.end = end});
  // The first step of adam is as long as the rate, whatever the gradient.
  coupled.advance(x, {.learning_rate = 0.1}, {.end = decayed});
  for (std::size_t i = 0; i < 3; ++i) CHECK(decayed[i] == doctest::Approx(end[i]));
  decoupled.advance(x, {.learning_rate = 0.1}, {.end = decayed});
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(decayed[i] == doctest::Approx(end[i] - 0.1 * 0.5 * x[i]));
}

TEST_CASE("A foundation and another start leave nothing of what was before") {
  Options options = options_for(*algorithm_named("dpsgd"));
  options.local_optimizer = LocalOptimizerKind::momentum;
  options.batch_size = 3;
  auto objective = std::make_unique<BowlObjective>(Bowl{1, 1}, 8);
  BowlObjective& bowl = *objective;
  LocalLearner<double> learner(options, std::move(objective), 1);
  const LocalSteps<double> steps{.count = 5, .learning_rate = 0.1};
  const auto run = [&] {
    Vector x(3);
    learner.advance(x, steps, {.end = x});
    return x;
  };
  const Vector first = run();
  const std::vector<std::uint32_t> drawn = std::exchange(bowl.drawn, {});
  CHECK(run() != first);  // its momentum goes on
  bowl.evaluations = 0;
  run();
  CHECK(bowl.evaluations == 0);  // no step is longer than those before
  learner.restart({}, Heir::newcomer);
  bowl.drawn.clear();
  CHECK(run() == first);
  CHECK(std::exchange(bowl.evaluations, 0) > 0);
  CHECK(bowl.drawn != drawn);  // the same samples, in the order in which they would have come
  REQUIRE(learner.found({}));
  bowl.drawn.clear();
  CHECK(run() == first);
  CHECK(bowl.drawn == drawn);
  CHECK(bowl.evaluations > 0);
}

TEST_CASE("With another shard a node begins a pass over its samples") {
  Options options = options_for(*algorithm_named("dpsgd"));
  options.batch_size = 3;
  auto objective = std::make_unique<BowlObjective>(Bowl{1, 1}, 7);
  BowlObjective& bowl = *objective;
  LocalLearner<double> learner(options, std::move(objective), 1);
  Vector x(3);
  const auto draw = [&] { learner.advance(x, {.learning_rate = 0.1}, {.end = x}); };
  const auto different = [&] {
    return std::set<std::uint32_t>(bowl.drawn.begin(), bowl.drawn.end()).size();
  };
  draw();
  learner.assign({});
  bowl.drawn.clear();
  draw();
  draw();
  CHECK(different() == 6);  // of a whole pass, no sample twice
  draw();
  CHECK(bowl.drawn.size() == 9);  // one is left out, and the next pass begins
}

TEST_CASE("Local steps allocate nothing") {
  constexpr std::array<std::uint64_t, 2> kEdges = {1, 2};
  for (const AlgorithmRow& row : algorithms())
    for (const LocalOptimizerKind kind : {LocalOptimizerKind::sgd, LocalOptimizerKind::adam}) {
      CAPTURE(row.name);
      Options options = options_for(row, 3);
      options.local_optimizer = kind;
      options.learning_rate = 0.01;
      LocalLearner<double> local = learner({1, 1}, options);
      const auto algorithm =
          make_algorithm<double>(options, Vector(3), std::make_shared<BufferPool>());
      algorithm->follow({kEdges});
      // The first are looked at by the guard, and what the learner needs is made.
      for (int round = 0; round < 30; ++round)
        algorithm->local(local, {*options.local_steps.fixed, options.learning_rate});
      const std::size_t before = test::allocations();
      for (int round = 0; round < 30; ++round)
        algorithm->local(local, {*options.local_steps.fixed, options.learning_rate});
      const std::size_t made = test::allocations() - before;
      CHECK(made == 0);
    }
}
