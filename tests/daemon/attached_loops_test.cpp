#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "daemon/attach/external_learner.h"
#include "daemon/setup/legality.h"
#include "optim/local/local_optimizer.h"
#include "tests/daemon/trainer_client.h"
#include "tests/lengths.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;
using optim::AlgorithmRow;
using optim::LocalOptimizerKind;
using test::Lockstep;
using testing::TrainerClient;
using testing::TrainerPlan;

namespace {

constexpr test::ReferenceShape kProblem{.n = 6, .d = 3, .m = 8};
constexpr std::array kOptimizers{LocalOptimizerKind::sgd, LocalOptimizerKind::momentum,
                                 LocalOptimizerKind::nesterov, LocalOptimizerKind::adam,
                                 LocalOptimizerKind::adamw};
constexpr double kRate = 0.02;

// What a loop does, and what it says of that.
struct Habit {
  LocalOptimizerKind optimizer = LocalOptimizerKind::sgd;
  std::function<double(std::uint64_t round)> rate = [](std::uint64_t) { return kRate; };
  bool tells_rate = true;
  double left_out = 0;          // the share of the steps that it leaves out, by chance
  bool has_words = false;       // it says so; else its optimizer is counted
  bool weighs_samples = false;  // the run does
  bool measures = false;        // it logs the first number of what it gets as its loss
  json hello = json::object();  // over what it says otherwise
};

json hello_of(const Habit& habit) {
  json hello = {{"shifts", true}, {"optimizer", optim::name(habit.optimizer)}};
  if (habit.optimizer == LocalOptimizerKind::sgd)
    hello["steps"] = "sgd";
  else if (optim::is_linear(habit.optimizer))
    hello["steps"] = "linear";
  if (habit.tells_rate) hello["learning_rate"] = habit.rate(1);
  hello.update(habit.hello);
  return hello;
}

// A port, and at it a loop of node `node` in a thread of its own.
class Loop {
 public:
  Loop(const optim::Options& options, std::size_t node, const Habit& habit)
      : habit_(habit),
        objective_(test::reference_objective(kProblem, node)),
        optimizer_(optim::make_local_optimizer<double>(with(options, habit), kProblem.d)),
        chance_(node) {
    static std::atomic<int> count = 0;
    const std::string path =
        std::filesystem::temp_directory_path() /
        ("starling-loop-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    const std::string name(options.algorithm->name);
    port_ = *TrainerPort::open(
        path, {.welcome = {.node = "n", .algorithm = name, .learning_rate = options.learning_rate},
               .algorithm = options.algorithm,
               .weighs_samples = habit.weighs_samples});
    client_ = std::make_unique<TrainerClient>(
        path, TrainerPlan{.numbers = kProblem.d, .hello = hello_of(habit)});
    thread_ = std::thread(
        [this] { last_ = client_->run([this](const json& request) { return serve(request); }); });
  }
  ~Loop() {
    port_.reset();
    if (thread_.joinable()) thread_.join();
  }

  // Null where it is refused; then refusal() says why.
  std::unique_ptr<optim::Trainer> trainer(const optim::Options& options) {
    std::shared_ptr<const Attached> first;
    while (!first && port_->status().refused == 0)
      first = port_->await(std::chrono::milliseconds(1));
    if (!first) {
      thread_.join();
      refusal_ = last_.value("reason", "");
      return nullptr;
    }
    auto trainer =
        make_external_trainer<double>(options, *port_, *first, {}, 0, [] { return Time{}; });
    optim::Job job;
    job.shard = std::make_shared<optim::Shard>();
    trainer->run(job);
    return trainer;
  }
  const std::string& refusal() const { return refusal_; }
  TrainerStatus status() const { return port_->status(); }

 private:
  static optim::Options with(optim::Options options, const Habit& habit) {
    options.local_optimizer = habit.optimizer;
    return options;
  }

  json serve(const json& request) {
    const std::size_t count = request["count"];
    if (habit_.measures)
      client_->send({{"kind", "log"}, {"metrics", {{"loss", client_->values()[0]}}}});
    const double rate = habit_.rate(request["round"]);
    std::vector<double> g(kProblem.d);
    double loss = 0;
    std::ranges::fill(client_->gradient(), 0.0);
    std::size_t taken = 0;
    for (std::size_t step = 0; step < count; ++step) {
      if (chance_.chance(habit_.left_out)) continue;
      ++taken;
      loss = objective_->loss_and_gradient(client_->values(), {}, g);
      if (request["corrects"]) optim::axpy(1.0, client_->correction(), std::span(g));
      optim::axpy(1.0 / static_cast<double>(count), std::span<const double>(g),
                  client_->gradient());
      optimizer_->step(g, rate);
      optim::axpy(1.0, std::span<const double>(g), client_->values());
      if (request["shifts"]) optim::axpy(1.0, client_->correction(), client_->values());
    }
    json done = {{"loss", loss}, {"samples", objective_->samples() * count}, {"steps", taken}};
    if (habit_.has_words) done["left_out"] = count - taken;
    if (habit_.tells_rate) done["learning_rate"] = rate;
    return done;
  }

  Habit habit_;
  std::unique_ptr<optim::Objective<double>> objective_;
  std::unique_ptr<optim::LocalOptimizer<double>> optimizer_;
  Prng chance_;
  std::unique_ptr<TrainerPort> port_;
  std::unique_ptr<TrainerClient> client_;
  json last_;
  std::string refusal_;
  std::thread thread_;
};

optim::Options options_of(const AlgorithmRow& row, double rate, std::size_t steps) {
  optim::Options options = test::reference_training(rate);
  options.algorithm = &row;
  options.local_steps.fixed = steps;
  return options;
}

void found(std::span<const std::unique_ptr<optim::Trainer>> trainers) {
  std::vector<std::string> surveys;
  for (const auto& trainer : trainers) surveys.push_back(trainer->workload().survey);
  optim::Job job;
  job.foundation = std::make_shared<const std::vector<std::string>>(surveys);
  for (const auto& trainer : trainers) trainer->run(job);
}

// Nodes with a loop beside each. Without a Lockstep where the loops are refused, and why.
struct Network {
  std::vector<std::unique_ptr<Loop>> loops;
  std::unique_ptr<Lockstep> nodes;
  std::string refusal;
};
Network network(const optim::Options& options, const std::function<Habit(std::size_t)>& habit,
                topology::Kind kind = topology::Kind::ring) {
  Network network;
  std::vector<std::unique_ptr<optim::Trainer>> trainers;
  for (std::size_t node = 0; node < kProblem.n; ++node) {
    network.loops.push_back(std::make_unique<Loop>(options, node, habit(node)));
    trainers.push_back(network.loops.back()->trainer(options));
    network.refusal = network.loops.back()->refusal();
    if (!trainers.back()) return network;
  }
  found(trainers);
  network.nodes = std::make_unique<Lockstep>(
      kind, kProblem.n, options, [&](std::size_t node) { return std::move(trainers[node]); });
  return network;
}
Network network(const optim::Options& options, const Habit& habit) {
  return network(options, [&](std::size_t) { return habit; });
}

Lockstep built_in(optim::Options options, LocalOptimizerKind optimizer) {
  options.local_optimizer = optimizer;
  options.learning_rate = kRate;
  return {topology::Kind::ring, options, kProblem};
}

double apart(const Lockstep& one, const Lockstep& other) {
  double most = 0;
  for (std::size_t node = 0; node < kProblem.n; ++node) {
    const std::vector<double> x = one.trainer(node).parameters();
    const std::vector<double> y = other.trainer(node).parameters();
    for (std::size_t k = 0; k < x.size(); ++k) most = std::max(most, std::abs(x[k] - y[k]));
  }
  return most;
}

std::vector<double> optimum() {
  return test::reference_optimum(kProblem, {0, 1, 2, 3, 4, 5});
}

bool is_legal(const AlgorithmRow& row, LocalOptimizerKind kind) {
  gossip::Options node;
  if (row.needs.is_pairwise) node.schedule = gossip::schedule_named("pairwise");
  return allows(row, node, kind);
}

}  // namespace

TEST_CASE("Every algorithm with a loop of one's own walks where it does with its own or refuses") {
  // The run's learning rate is not that of the loops, and a loop may be able to do all or nothing.
  constexpr double kOfTheRun = 8;
  for (const AlgorithmRow& row : optim::algorithms())
    for (const LocalOptimizerKind kind : kOptimizers)
      for (const std::size_t steps : {1, 4})
        for (const bool is_able : {true, false}) {
          CAPTURE(row.name);
          CAPTURE(optim::name(kind));
          CAPTURE(steps);
          CAPTURE(is_able);
          Habit habit{.optimizer = kind, .hello = {{"corrects", is_able}, {"shifts", is_able}}};
          const optim::Options options = options_of(row, kOfTheRun, steps);
          Network own = network(options, habit);
          const bool can = is_able || row.loop == optim::LoopDuty::none;
          CHECK(!!own.nodes ==
                (is_legal(row, kind) && can && row.loop != optim::LoopDuty::serve_gradients));
          CHECK((own.nodes || own.refusal.find(row.name) != std::string::npos));
          if (!own.nodes) continue;
          Lockstep reference = built_in(options, kind);
          const std::size_t rounds = test::full_or(12, 5);
          own.nodes->run(rounds);
          reference.run(rounds);
          CHECK(apart(*own.nodes, reference) < 1e-9);
        }
}

TEST_CASE("An exact algorithm ends at the optimum of all with a momentum inside a loop") {
  for (const std::string_view name : {"ed", "extra", "pairwise-ed", "gt"})
    for (const std::size_t steps : {1, 5}) {
      CAPTURE(name);
      CAPTURE(steps);
      const AlgorithmRow& row = *optim::algorithm_named(name);
      const Network own =
          network(options_of(row, 8, steps), Habit{.optimizer = LocalOptimizerKind::momentum});
      REQUIRE(own.nodes);
      own.nodes->run(steps == 1 ? 500 : 300);
      CHECK(own.nodes->error(optimum()) < 1e-9);
    }
}

TEST_CASE("An exact algorithm ends at the optimum of all whatever steps a loop leaves out") {
  for (const std::string_view name : {"ed", "extra", "pairwise-ed", "gt"})
    for (const LocalOptimizerKind kind : kOptimizers)
      for (const std::size_t steps : {1, 5})
        for (const bool is_one : {true, false}) {
          const AlgorithmRow& row = *optim::algorithm_named(name);
          // A step of adam is as long whatever is left of the gradient.
          if (!is_legal(row, kind) || !optim::is_linear(kind)) continue;
          if (!test::tries_full() && is_one != (steps == 1)) continue;
          CAPTURE(name);
          CAPTURE(optim::name(kind));
          CAPTURE(steps);
          CAPTURE(is_one);
          const Network own = network(options_of(row, 8, steps), [&](std::size_t node) {
            const bool leaves_out = !is_one || node == 2;
            const double rate = kind == LocalOptimizerKind::sgd ? 10 * kRate : kRate;
            return Habit{.optimizer = kind,
                         .rate = [=](std::uint64_t) { return rate; },
                         .left_out = leaves_out ? 0.4 : 0,
                         .has_words = node % 2 == 0};
          });
          REQUIRE(own.nodes);
          own.nodes->run(1000);
          CHECK(own.nodes->error(optimum()) < 1e-9);
        }
}

TEST_CASE("A loop that means to take no step leaves the others at the optimum of their own") {
  const Network own = network(options_of(*optim::algorithm_named("ed"), 8, 2), [](std::size_t k) {
    return Habit{.rate = [](std::uint64_t) { return 10 * kRate; },
                 .left_out = k == 2 ? 1.0 : 0,
                 .has_words = true};
  });
  REQUIRE(own.nodes);
  own.nodes->run(800);
  CHECK(own.nodes->error(test::reference_optimum(kProblem, {0, 1, 3, 4, 5})) < 1e-9);
}

TEST_CASE("A loop whose optimizer takes no step says so and is told to go") {
  const Network own = network(options_of(*optim::algorithm_named("ed"), 8, 2),
                              [](std::size_t k) { return Habit{.left_out = k == 2 ? 1.0 : 0}; });
  REQUIRE(own.nodes);
  own.nodes->run(4);
  CHECK(own.nodes->problem(2)->starts_with("the optimizer that was handed over (sgd) takes no"));
  CHECK_FALSE(own.nodes->problem(1));
  own.nodes->run(7);
  const TrainerStatus status = own.loops[2]->status();
  CHECK(status.refused == 1);
  CHECK(status.refusal.starts_with("the optimizer that was handed over (sgd) takes no step"));
}

TEST_CASE("A loop that tells no rate ends at the optimum whatever the schedule of the run says") {
  optim::Options options = options_of(*optim::algorithm_named("ed"), 8, 2);
  options.schedule = {.shape = optim::Schedule::Shape::cosine, .rounds = 20};
  const Network own =
      network(options, Habit{.optimizer = LocalOptimizerKind::momentum, .tells_rate = false});
  REQUIRE(own.nodes);
  own.nodes->run(400);
  CHECK(own.nodes->error(optimum()) < 1e-9);
}

TEST_CASE("Loops may step at rates that change and that differ by node where they tell them") {
  const Network own = network(options_of(*optim::algorithm_named("ed"), 8, 2), [](std::size_t k) {
    const double most = k % 2 == 0 ? kRate : 2.5 * kRate;
    // It rises from nothing, rests for a while and goes on.
    return Habit{.optimizer = LocalOptimizerKind::momentum, .rate = [=](std::uint64_t round) {
                   const double part = static_cast<double>(std::min<std::uint64_t>(round, 9)) / 9;
                   return round == 1 || (round > 30 && round < 60) ? 0 : most * part;
                 }};
  });
  REQUIRE(own.nodes);
  own.nodes->run(500);
  CHECK(own.nodes->error(optimum()) < 1e-9);
}

TEST_CASE("A node weighs by the samples of its loop where the run says so") {
  // Node i holds as many as it has places among these.
  const std::vector<std::size_t> places = {0, 1, 1, 1, 2, 3, 4, 4, 5, 5, 5, 5, 5, 5};
  const auto habit = [&](std::size_t node) {
    return Habit{.optimizer = LocalOptimizerKind::momentum,
                 .weighs_samples = true,
                 .hello = {{"samples", std::ranges::count(places, node)}}};
  };
  const auto error = [&](const char* algorithm, std::size_t steps, topology::Kind kind) {
    const optim::Options options = options_of(*optim::algorithm_named(algorithm), 8, steps);
    const Network own = network(options, habit, kind);
    REQUIRE(own.nodes);
    own.nodes->run(500);
    return own.nodes->error(test::reference_optimum(kProblem, places));
  };
  for (const char* algorithm : {"ed", "gt", "pairwise-ed"})
    for (const std::size_t steps : {1, 3}) {
      CAPTURE(algorithm);
      CAPTURE(steps);
      CHECK(error(algorithm, steps, topology::Kind::ring) < 1e-9);
    }
  CHECK(error("dpsgd", 1, topology::Kind::complete) < 1e-9);
  const Habit silent{.weighs_samples = true, .hello = {{"samples", 0}}};
  const Network refused = network(options_of(*optim::algorithm_named("dpsgd"), 8, 1), silent);
  CHECK(refused.refusal.find("does not say how many it holds") != std::string::npos);
}

TEST_CASE("The model that is kept of an evaluation is the one that the loop has measured") {
  const optim::Options options = options_of(*optim::algorithm_named("dpsgd"), kRate, 2);
  Loop loop(options, 0, Habit{.measures = true});
  std::array trainers{loop.trainer(options)};
  REQUIRE(trainers[0]);
  found(trainers);
  optim::Trainer& trainer = *trainers[0];
  optim::Job job;
  job.evaluate = job.local = true;
  job.local_steps = 2;
  job.keeps = {0, 1, 2, 3, 4};
  std::vector<optim::Evaluation> logged;
  for (job.round = 1; job.round <= 6; ++job.round) {
    const optim::Done done = trainer.run(job);
    REQUIRE(done.evaluation);
    if (job.round > 1) logged.push_back(*done.evaluation);
  }
  for (std::size_t k = 0; k < logged.size(); ++k) {
    CHECK(logged[k].round == k);
    if (k == 0) continue;  // which stands for no way back
    optim::Job back;
    back.back_to = logged[k].round;
    back.round = job.round;
    back.copy = true;
    CHECK(trainer.run(back).copy.at(0) == logged[k].loss);
  }
  CHECK(logged.front().loss != logged.back().loss);
}
