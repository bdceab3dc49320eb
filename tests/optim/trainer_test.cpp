#include "optim/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "optim/codec/codec.h"

using namespace starling;
using namespace starling::optim;

namespace {

// F(x) = ||x - target||^2 / 2 in two dimensions, "sampled" four times.
class Bowl final : public Objective<double> {
 public:
  explicit Bowl(double target, bool poisoned = false) : target_(target), poisoned_(poisoned) {}
  void assign(const Shard&) override {}
  DataSummary describe() const override {
    return {.samples = 4, .shard = "four", .schema = "bowl", .optimum = optimum_};
  }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 4; }
  void initialize(std::span<double> x, std::uint64_t) const override { x[0] = x[1] = 0; }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    double loss = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      gradient[i] = poisoned_ ? std::numeric_limits<double>::quiet_NaN() : x[i] - target_;
      loss += 0.5 * (x[i] - target_) * (x[i] - target_);
    }
    return loss;
  }
  Evaluation evaluate(std::span<const double> x, std::size_t) override {
    return {0, std::abs(x[0] - target_), {}, {}};
  }

 private:
  std::vector<ParameterBlock> blocks_ = one_block(2);
  double target_;
  std::vector<double> optimum_ = {target_, target_};
  bool poisoned_;
};

// So many parameters that stay as they are.
class Flat final : public Objective<double> {
 public:
  explicit Flat(std::size_t size) : blocks_(one_block(size)) {}
  void assign(const Shard&) override {}
  DataSummary describe() const override { return {4, "four", "flat"}; }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 4; }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 1); }
  double loss_and_gradient(std::span<const double>, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    std::ranges::fill(gradient, 0);
    return 0;
  }
  Evaluation evaluate(std::span<const double>, std::size_t) override { return {}; }

 private:
  std::vector<ParameterBlock> blocks_;
};

// Of its ten samples the first few have a smaller loss than all.
class Flattering final : public Objective<double> {
 public:
  void assign(const Shard&) override {}
  DataSummary describe() const override { return {10, "ten", "flattering"}; }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return 10; }
  void initialize(std::span<double> x, std::uint64_t) const override { x[0] = 0; }
  double loss_and_gradient(std::span<const double>, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    gradient[0] = 0;
    return 1;
  }
  Evaluation evaluate(std::span<const double>, std::size_t limit) override {
    const std::size_t samples = limit == 0 ? 10 : limit;
    return {.loss = static_cast<double>(samples) / 10, .samples = samples, .available = 10};
  }

 private:
  std::vector<ParameterBlock> blocks_ = one_block(1);
};

Options options_for(const AlgorithmRow* algorithm) {
  Options options;
  options.algorithm = algorithm;
  options.learning_rate = 0.5;
  options.batch_size = 0;
  options.codec = wire_form_named("f64");
  return options;
}

std::unique_ptr<Trainer> trainer(double target, const Options& options, bool poisoned = false) {
  auto made = make_trainer<double>(options, std::make_unique<Bowl>(target, poisoned), 1,
                                   [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>();
  const std::size_t vectors = options.algorithm->vectors_offered;
  CHECK(made->run(job).workload->payload_bytes == 16 * vectors);
  return made;
}

Done run(Trainer& trainer, bool absorb, bool local, bool offer, std::vector<MixTerm> mix = {}) {
  Job job;
  job.round = 1;
  job.absorb = absorb;
  job.local = local;
  job.offer = offer;
  for (const MixTerm& term : mix) job.edges.push_back(term.edge);
  job.mix = std::move(mix);
  return trainer.run(job);
}

// Has its samples read elsewhere, and gets them when somebody sets `has_come`.
class Late final : public Objective<double> {
 public:
  explicit Late(const bool& has_come) : has_come_(has_come) {}
  void assign(const Shard&) override { is_waiting_ = true; }
  bool refresh() override {
    if (!is_waiting_ || !has_come_) return false;
    return is_waiting_ = false, samples_ = 8, true;
  }
  DataSummary describe() const override { return {samples_, "late", "late"}; }
  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return samples_; }
  void initialize(std::span<double> x, std::uint64_t) const override { x[0] = 0; }
  double loss_and_gradient(std::span<const double>, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    return gradient[0] = 0;
  }
  Evaluation evaluate(std::span<const double>, std::size_t) override { return {}; }

 private:
  const bool& has_come_;
  std::vector<ParameterBlock> blocks_ = one_block(1);
  std::size_t samples_ = 4;
  bool is_waiting_ = false;
};

}  // namespace

TEST_CASE("D-PSGD steps and then averages what was offered") {
  const auto a = trainer(1, options_for(algorithm_named("dpsgd")));
  const auto b = trainer(3, options_for(algorithm_named("dpsgd")));
  const Payload from_a = run(*a, false, true, true).offer;
  const Payload from_b = run(*b, false, true, true).offer;
  run(*a, true, false, false, {{NodeId{2}, 0.5, from_b, from_a}});
  run(*b, true, false, false, {{NodeId{1}, 0.5, from_a, from_b}});
  CHECK(a->parameters() == std::vector<double>{1, 1});  // (0.5 + 1.5) / 2
  CHECK(b->parameters() == a->parameters());
}

TEST_CASE("A term without the vector it is averaged with is refused") {
  for (const AlgorithmRow& row : algorithms()) {
    if (row.needs.fanout == Fanout::per_edge) continue;
    CAPTURE(row.name);
    const auto node = trainer(1, options_for(&row)), peer = trainer(3, options_for(&row));
    const auto alone = trainer(1, options_for(&row));
    run(*node, false, true, true);
    run(*alone, false, true, true);
    const MixTerm term{.peer = NodeId{2},
                       .weight = 0.3,
                       .theirs = run(*peer, false, true, true).offer,
                       .edge = 7,
                       .span = 0.5};
    CHECK(run(*node, true, false, false, {term}).rejections.size() == 1);
    run(*alone, true, false, false);
    CHECK(node->parameters() == alone->parameters());
  }
}

TEST_CASE("An offer says how much its codec carries and remembers") {
  const auto offer = [](Trainer& of, std::uint64_t number) {
    Job job;
    job.round = number;
    job.edges = {7};
    job.local = job.offer = true;
    job.offer_to = {{7, number}};
    return of.run(job);
  };
  for (const char* algorithm : {"dpsgd", "admm"}) {
    CAPTURE(algorithm);
    Options options = options_for(algorithm_named(algorithm));
    Job job;
    job.shard = std::make_shared<Shard>();
    const auto plain = trainer(1, options);
    CHECK(plain->workload().vector_bytes == 16);
    CHECK(plain->workload().f32_bytes == 8);
    const Done whole = offer(*plain, 1);
    CHECK(whole.codec.quality == 1);
    CHECK(whole.codec.memory_bytes == 0);
    options.codec = wire_form_named("top:50%");
    const auto sparse =
        make_trainer<double>(options, std::make_unique<Bowl>(1), 1, [] { return Time{}; });
    const Workload workload = *sparse->run(job).workload;
    CHECK(workload.payload_bytes == 8);
    CHECK(workload.vector_bytes < 8);
    CHECK(workload.f32_bytes == 8);
    CHECK(offer(*sparse, 1).codec.quality == 1);
    const Done second = offer(*sparse, 2);
    REQUIRE(second.edge_offers.size() == 1);
    CHECK(second.edge_offers[0].payload.size() == workload.vector_bytes);
    // m = .9 + .1 / 2: of two equal numbers one is sent.
    CHECK(second.edge_offers[0].quality == doctest::Approx(0.95).epsilon(0.01));
    CHECK(second.codec.quality == second.edge_offers[0].quality);
    CHECK(second.codec.memory_bytes == 2 * sizeof(double) + workload.vector_bytes);
  }
}

TEST_CASE("Pipelined D-PSGD averages the old models while it steps") {
  const auto a = trainer(1, options_for(algorithm_named("dpsgd-pipelined")));
  const auto b = trainer(3, options_for(algorithm_named("dpsgd-pipelined")));
  for (int round = 0; round < 2; ++round) {
    const Payload from_a = run(*a, false, false, true).offer;
    const Payload from_b = run(*b, false, false, true).offer;
    run(*a, false, true, false);
    run(*b, false, true, false);
    run(*a, true, false, false, {{NodeId{2}, 0.5, from_b, from_a}});
    run(*b, true, false, false, {{NodeId{1}, 0.5, from_a, from_b}});
  }
  // x1 = .5, 1.5; x2 = 1 + .5 (1 - .5), 1 + .5 (3 - 1.5)
  CHECK(a->parameters() == std::vector<double>{1.25, 1.25});
  CHECK(b->parameters() == std::vector<double>{1.75, 1.75});
}

TEST_CASE("A job says how many local steps are taken one after another") {
  const auto one = trainer(1, options_for(algorithm_named("dpsgd")));
  Job job;
  job.round = 1;
  job.local = true;
  job.local_steps = 3;
  const Done done = one->run(job);
  CHECK(done.stats.steps == 3);
  CHECK(done.stats.samples == 12);
  CHECK(one->parameters()[0] == 0.875);
}

TEST_CASE("A gradient that is not finite changes nothing and says so") {
  const auto sick = trainer(1, options_for(algorithm_named("dpsgd")), true);
  const Done done = run(*sick, false, true, true);
  REQUIRE(done.problem.has_value());
  CHECK(done.problem->find("learning-rate") != std::string::npos);
  CHECK(sick->parameters() == std::vector<double>{0, 0});
  CHECK(done.offer.size() == 16);  // it still averages with its neighbours
}

TEST_CASE("A vector that is not finite is not counted in what came over its edge") {
  using Limits = std::numeric_limits<double>;
  for (const AlgorithmRow* const algorithm :
       {algorithm_named("ed"), algorithm_named("gt"), algorithm_named("extra")})
    for (const double poison : {Limits::quiet_NaN(), Limits::infinity(), 1e300}) {
      const auto one = trainer(1, options_for(algorithm));
      const auto other = trainer(1, options_for(algorithm));
      BufferPool pool;
      for (int round = 0; round < 5; ++round) {
        const Payload own = run(*one, false, true, true).offer;
        std::vector<double> numbers(own.size() / 8, 0.5);
        const Payload others = run(*other, false, true, true).offer;
        const Payload sound = encode<double>(*format_named("f64"), numbers, pool);
        numbers.back() = poison;
        const Payload poisoned = encode<double>(*format_named("f64"), numbers, pool);
        const MixTerm good{NodeId{2}, 0.3, sound, others, 7};
        const MixTerm bad{NodeId{3}, 0.3, poisoned, others, 8};
        run(*one, true, false, false, {{NodeId{2}, 0.3, sound, own, 7}});
        CHECK(run(*other, true, false, false, {good, bad}).rejections.size() == 1);
        CHECK(one->parameters() == other->parameters());
      }
    }
}

TEST_CASE("No distance is told to an optimum where adamw does not go") {
  Options options = options_for(algorithm_named("dpsgd"));
  for (const auto kind : {LocalOptimizerKind::sgd, LocalOptimizerKind::adamw})
    for (const double decay : {0.0, 0.01}) {
      options.local_optimizer = kind;
      options.weight_decay = decay;
      const bool is_known = kind == LocalOptimizerKind::sgd || decay == 0;
      const auto one = trainer(1, options);
      CHECK(one->optimum().empty() == !is_known);
      CHECK(run(*one, false, true, true).stats.distance_to_optimum.has_value() == is_known);
    }
}

TEST_CASE("A goal that some samples reach is judged on all samples") {
  Options options = options_for(algorithm_named("dpsgd"));
  options.evaluation_samples = 4;
  const auto node =
      make_trainer<double>(options, std::make_unique<Flattering>(), 1, [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>();
  node->run(job);
  job.evaluate = true;
  const auto judged = [&](std::optional<double> loss, bool whole) {
    job.target = {.loss = loss};
    job.whole = whole;
    return node->run(job).evaluation->samples;
  };
  CHECK(judged({}, false) == 4);
  CHECK(judged(0.3, false) == 4);
  CHECK(judged(0.5, false) == 10);
  CHECK(judged({}, true) == 10);
}

TEST_CASE("Large models are described in the same rounds wherever they are evaluated") {
  for (const std::size_t size : {10, 300'000}) {
    CAPTURE(size);
    const auto node = make_trainer<double>(options_for(algorithm_named("dpsgd")),
                                           std::make_unique<Flat>(size), 1, [] { return Time{}; });
    Job first;
    first.shard = std::make_shared<Shard>();
    node->run(first);
    std::vector<std::uint64_t> described;
    for (std::uint64_t round = 1; round <= 25; ++round) {
      Job job;
      job.round = round;
      job.absorb = round > 1;
      job.local = job.offer = round < 25;  // the last round of all
      job.evaluate = round % 4 == 0;
      if (!node->run(job).stats.sketch.empty()) described.push_back(round);
    }
    if (size == 10)
      CHECK(described.size() == 25);
    else
      CHECK(described == std::vector<std::uint64_t>{1, 11, 21, 25});
  }
}

TEST_CASE("A trainer says how much of its computing was evaluation") {
  // Each look at the clock takes a second.
  const auto clock = [now = Time{}]() mutable { return now += std::chrono::seconds(1); };
  const auto node = make_trainer<double>(options_for(algorithm_named("dpsgd")),
                                         std::make_unique<Bowl>(1), 1, clock);
  Job job;
  job.shard = std::make_shared<Shard>();
  job.local = job.evaluate = true;
  const Stats stats = node->run(job).stats;
  CHECK(stats.evaluation == std::chrono::seconds(1));
  CHECK(stats.compute == std::chrono::seconds(2));
}

TEST_CASE("Samples that are read elsewhere are told of once they have come") {
  bool has_come = false;
  const auto trainer =
      make_trainer<double>(Options{}, std::make_unique<Late>(has_come), 1, [] { return Time{}; });
  Job job;
  job.shard = std::make_shared<Shard>(std::vector<NodeId>{NodeId{1}}, 0);
  CHECK(trainer->run(job).workload->shard_samples == 4);
  job = {};
  job.local = true;
  CHECK_FALSE(trainer->run(job).workload);
  has_come = true;
  CHECK(trainer->run(job).workload->shard_samples == 8);
  CHECK_FALSE(trainer->run(job).workload);
}
