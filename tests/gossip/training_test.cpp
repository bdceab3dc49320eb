// The order of jobs: direct tests of Training, of a node without neighbours.
#include "gossip/node/training.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

struct Trainee : Party {
  explicit Trainee(const Options& given = party_options(1), const optim::StepCount& steps = {})
      : Party(given),
        exchange(options),
        budget(steps, {}),
        saver(options.checkpoint, now),
        end(options, exchange.rounds()),
        settlement(options, end, {membership.roster(), links, gate}),
        settings(options, {}),
        training(options, {membership.roster(), life, exchange, links, donor, saver, budget, end,
                           settlement, settings}) {
    for (const LifePhase& phase : {LifePhase(phases::Assigning()), LifePhase(phases::Fetching()),
                                   LifePhase(phases::Ready())})
      life.enter(now, phase);
  }

  void start(std::uint64_t round = 0) { training.start(now, round, outbox); }
  // What was asked of the trainer since the last call.
  std::vector<optim::Job> jobs() {
    std::vector<optim::Job> jobs;
    for (const Output& output : std::exchange(out, {})) {
      if (const auto* train = std::get_if<Train>(&output)) jobs.push_back(train->job);
      if (const auto* event = std::get_if<Event>(&output)) events.push_back(*event);
      if (const auto* progress = std::get_if<Progress>(&output)) rounds.push_back(progress->round);
    }
    return jobs;
  }
  // REQUIRES that there is exactly one.
  optim::Job job() {
    const std::vector<optim::Job> all = jobs();
    REQUIRE(all.size() == 1);
    return all.front();
  }
  static optim::Done answer(const optim::Job& job) {
    optim::Done done;
    done.round = job.round, done.is_offer = job.offer;
    done.stats.steps = job.local ? 1 : 0, done.stats.loss = 0.5;
    if (job.evaluate) done.evaluation.emplace().round = job.round - 1;
    return done;
  }
  void trained(optim::Done done) { training.trained(now, std::move(done), outbox); }
  void advance() {
    const RunStatus& run = training.progress().run();
    end.judge({.round = run.round,
               .evaluation = run.evaluation,
               .is_budget_spent = training.progress().is_budget_spent()},
              membership.roster(), exchange.neighbors());
    settlement.tick(now, outbox);
    training.advance(now, outbox);
  }
  // To the end of the run, whose last round has been trained. Gives its last jobs.
  std::vector<optim::Job> finish() {
    std::vector<optim::Job> all = jobs();
    while (!life.is_in<phases::Finished>()) {
      advance();
      for (const optim::Job& job : jobs()) {
        all.push_back(job);
        optim::Done done = answer(job);
        if (job.tally) done.tally = Payload::copy_of(std::vector<std::byte>(8));
        if (job.seal) done.sealed = 7;
        trained(std::move(done));
      }
    }
    return all;
  }
  // Answers jobs until `round` is the one under way; returns its job.
  optim::Job go_on_to(std::uint64_t round) {
    optim::Job next = job();
    while (next.round < round) {
      trained(answer(next));
      advance();
      next = job();
    }
    return next;
  }

  Time now{1s};
  Life life{now};
  Exchange exchange;
  Donor donor;
  ExchangeBudget budget;
  Saver saver;
  RunEnd end;
  Gate gate{1, node_id("node-1")};
  Settlement settlement;
  SettingLog settings;
  Training training;
  std::vector<Event> events;
  std::vector<std::uint64_t> rounds;  // of the points of progress
};

Options options_with(const Goal& goal) {
  Options options = party_options(1);
  options.goal = goal;
  return options;
}

}  // namespace

TEST_CASE("The first round absorbs nothing and every later one absorbs and steps and offers") {
  Trainee node;
  node.start();
  optim::Job job = node.job();
  CHECK(job.round == 1);
  CHECK_FALSE(job.absorb);
  CHECK(job.local);
  CHECK(job.offer);
  node.trained(Trainee::answer(job));
  node.advance();
  job = node.job();
  CHECK(job.round == 2);
  CHECK(job.absorb);
  CHECK(job.local);
  CHECK(job.offer);
}

TEST_CASE("The status has the size of a vector and what the last offer said of the codec") {
  Trainee node;
  optim::Workload workload;
  workload.vector_bytes = 50;
  workload.f32_bytes = 400;
  node.training.progress().set_workload(workload);
  node.start();
  optim::Job job = node.job();
  const CodecStatus& codec = node.training.progress().run().codec;
  CHECK(codec.vector_bytes == 50);
  CHECK(codec.f32_bytes == 400);
  CHECK(codec.quality == 1);
  optim::Done done = Trainee::answer(job);
  done.codec = {.quality = 0.9, .memory_bytes = 800};
  node.trained(std::move(done));
  CHECK(codec.quality == 0.9);
  CHECK(codec.memory_bytes == 800);
  node.advance();
  done = Trainee::answer(node.job());
  done.is_offer = false;  // an answer without an offer says nothing of it
  node.trained(std::move(done));
  CHECK(codec.memory_bytes == 800);
}

TEST_CASE("Where the nodes choose a job has as many local steps as they wish") {
  Trainee node(party_options(1), {.fixed = {}, .exchange_share = 0.1});
  node.start();
  CHECK(node.job().local_steps == 1);
  node.budget.follow(16);
  optim::Job job;
  job.round = 1;
  job.local = job.offer = true;
  node.trained(Trainee::answer(job));
  node.advance();
  CHECK(node.job().local_steps == 16);
  Trainee fixed(party_options(1), {.fixed = 3});
  fixed.start();
  CHECK(fixed.job().local_steps == 3);
}

TEST_CASE("A round is measured from its beginning to its end and a pause is no part of one") {
  Trainee node(party_options(1), {.fixed = {}, .exchange_share = 0.5});
  node.start();
  const auto run = [&](int rounds, Duration mix) {
    for (; rounds > 0; --rounds) {
      optim::Done done = Trainee::answer(node.job());
      done.stats.mix = mix;
      node.now += 100ms;
      node.trained(done);
      node.advance();
    }
  };
  // Nobody is waited for: the exchange is mixing, 70 of 100 ms, and a step takes the other 30.
  run(20, 70ms);
  CHECK(node.budget.wished_steps() == 4);
  node.training.want_pause(true);
  run(1, 70ms);
  node.trained(Trainee::answer(node.job()));
  node.now += 1h;
  node.training.want_pause(false);
  node.advance();
  run(20, 70ms);
  CHECK(node.budget.wished_steps() == 4);
}

TEST_CASE("No job is given while one is under way") {
  Trainee node;
  node.start();
  const optim::Job job = node.job();
  node.advance();
  node.advance();
  CHECK(node.jobs().empty());
  node.trained(Trainee::answer(job));
  node.advance();
  node.advance();
  CHECK(node.jobs().size() == 1);
}

TEST_CASE("Where the algorithm overlaps the offer is a job of its own before the step") {
  Options options = party_options(1);
  options.needs.overlaps = true;
  Trainee node(options);
  node.start();
  const std::vector<optim::Job> jobs = node.jobs();
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].offer);
  CHECK_FALSE(jobs[0].local);
  CHECK(jobs[1].local);
  CHECK_FALSE(jobs[1].offer);
  node.trained(Trainee::answer(jobs[0]));
  node.advance();
  CHECK(node.jobs().empty());
  node.trained(Trainee::answer(jobs[1]));
  node.advance();
  CHECK(node.jobs().size() == 2);
}

TEST_CASE("An adopted model is trained on and not evaluated again at once") {
  Trainee node;
  node.start(7);
  const optim::Job job = node.job();
  CHECK(job.round == 8);
  CHECK_FALSE(job.evaluate);
  CHECK(node.training.progress().run().round == 7);
}

TEST_CASE("Every tenth round is evaluated and so are the first and the last") {
  Trainee node(options_with({.rounds = 14}));
  node.start();
  std::vector<std::uint64_t> judged;
  for (std::uint64_t round = 1; round <= 15; ++round) {
    const optim::Job job = node.job();
    REQUIRE(job.round == round);
    if (job.evaluate) judged.push_back(round - 1);
    node.trained(Trainee::answer(job));
    node.advance();
  }
  CHECK(judged == std::vector<std::uint64_t>{0, 10, 14});
}

TEST_CASE("Evaluations take at most their share of the time of a node that trains") {
  Options options = options_with({.rounds = 60});
  options.evaluation = {.every = 4, .share = 0.2};
  Trainee node(options);
  node.start();
  std::vector<std::uint64_t> judged;
  for (std::uint64_t round = 1; round <= 61; ++round) {
    const optim::Job job = node.job();
    optim::Done done = Trainee::answer(job);
    done.stats.evaluation = job.evaluate ? 3s : 0s;  // then 12 s pass without
    node.now += 1s + done.stats.evaluation;
    if (job.evaluate) judged.push_back(round - 1);
    node.trained(std::move(done));
    node.advance();
  }
  CHECK(judged == std::vector<std::uint64_t>{0, 13, 26, 39, 52, 60});
}

TEST_CASE("The time of training is that of its rounds without pauses") {
  Trainee node(options_with({.rounds = 4}));
  node.start();
  const auto take_round = [&] {
    node.now += 2s;
    node.trained(Trainee::answer(node.job()));
    node.advance();
  };
  take_round();
  take_round();
  CHECK(node.training.progress().lived() == 4s);
  node.training.want_pause(true);
  take_round();
  take_round();
  REQUIRE(node.life.is_in<phases::Paused>());
  node.now += 60s;
  node.training.want_pause(false);
  node.advance();
  while (!node.life.has_come_to<phases::Ending>()) take_round();
  const Duration whole = node.training.progress().lived();
  node.now += 60s;
  CHECK(node.training.progress().lived() == whole);
  CHECK(whole >= 10s);
  CHECK(whole < 20s);
}

TEST_CASE("The last round absorbs and neither steps nor offers") {
  Trainee node(options_with({.rounds = 3}));
  node.start();
  const optim::Job job = node.go_on_to(4);
  CHECK(job.absorb);
  CHECK_FALSE(job.local);
  CHECK_FALSE(job.offer);
  node.trained(Trainee::answer(job));
  CHECK(node.life.is_in<phases::Ending>());
  CHECK(node.training.progress().run().round == 3);
  for (const optim::Job& last : node.finish()) CHECK_FALSE(last.local);
  CHECK(node.training.progress().run().round == 3);
  CHECK(node.training.deadline() == kNever);
}

TEST_CASE("A node that is alone ends with its own model and evaluates it on all samples") {
  Trainee node(options_with({.rounds = 1}));
  node.start();
  node.trained(Trainee::answer(node.go_on_to(2)));
  const std::vector<optim::Job> last = node.finish();
  REQUIRE(last.size() == 2);
  CHECK(last[0].tally);
  CHECK(last[1].seal);
  CHECK(last[1].whole);
  CHECK(last[1].evaluate);
  CHECK(node.settlement.sealed() == 7);
  CHECK(node.settlement.model().nodes == 1);
}

TEST_CASE("Each whole round makes one point of progress") {
  Trainee node(options_with({.rounds = 4}));
  node.start();
  node.trained(Trainee::answer(node.go_on_to(5)));
  node.jobs();
  CHECK(node.rounds == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("A goal that an evaluation reaches ends the training and a miss is named") {
  for (const double loss : {0.1, 0.9}) {
    CAPTURE(loss);
    Trainee node(options_with({.rounds = 1, .loss = 0.2}));
    node.start();
    const optim::Job first = node.job();
    REQUIRE(first.evaluate);
    optim::Done done = Trainee::answer(first);
    done.evaluation->loss = loss;
    node.trained(std::move(done));
    node.advance();
    optim::Done last = Trainee::answer(node.job());
    REQUIRE(last.evaluation);
    last.evaluation->loss = loss;
    node.trained(std::move(last));
    REQUIRE(node.life.is_in<phases::Ending>());
    node.advance();
    const bool is_reached = loss < 0.2;
    CHECK(node.end.shortfall(node.training.progress().run().evaluation) ==
          (is_reached ? "" : "stop.loss = 0.2 is not reached: held-out loss 0.9"));
  }
}

TEST_CASE("A refused step is reported once and stays a problem until a step is taken") {
  Trainee node;
  node.start();
  optim::Job job = node.job();
  const auto answer = [&](std::uint64_t steps, const char* problem) {
    optim::Done done = Trainee::answer(job);
    done.stats.steps = steps;
    if (problem) done.problem = problem;
    node.trained(std::move(done));
    node.advance();
    job = node.job();
  };
  const auto told = [&] {
    std::size_t count = 0;
    for (const Event& event : node.events) count += event.kind == Event::Kind::problem;
    return count;
  };
  answer(0, "the loss is no number");
  answer(0, "the loss is no number");
  CHECK(told() == 1);
  CHECK(node.training.progress().run().problem == "the loss is no number");
  answer(0, nullptr);
  CHECK(node.training.progress().run().problem.has_value());
  answer(1, nullptr);
  CHECK_FALSE(node.training.progress().run().problem.has_value());
  answer(0, "again");
  CHECK(told() == 2);
}

TEST_CASE("The data that were dealt anew come with the next job and once") {
  Trainee node;
  node.start();
  optim::Job job = node.job();
  const auto shard = std::make_shared<const optim::Shard>();
  node.training.reassign(shard);
  node.trained(Trainee::answer(job));
  node.advance();
  job = node.job();
  CHECK(job.shard == shard);
  node.trained(Trainee::answer(job));
  node.advance();
  CHECK_FALSE(node.job().shard);
}

TEST_CASE("A wanted snapshot comes with the next job and after the end with one of its own") {
  for (const bool is_over : {false, true}) {
    CAPTURE(is_over);
    Trainee node(options_with({.rounds = 1}));
    node.start();
    optim::Job job = node.job();
    if (is_over) {
      node.trained(Trainee::answer(job));
      node.advance();
      node.trained(Trainee::answer(node.job()));
      node.finish();
    }
    node.donor.asked(node.now, node_id("node-2"), node.membership.roster(), node.outbox);
    if (!is_over) {
      node.advance();
      CHECK(node.jobs().empty());
      node.trained(Trainee::answer(job));
    }
    node.advance();
    job = node.job();
    CHECK(job.snapshot);
    CHECK(job.absorb == !is_over);
    node.advance();
    CHECK(node.jobs().empty());
  }
}

TEST_CASE("A node that winds up begins no round and waits for the job under way") {
  Trainee node;
  node.start();
  const optim::Job job = node.job();
  CHECK_FALSE(node.training.closing().wind_up(node.outbox));
  node.trained(Trainee::answer(job));
  node.jobs();
  CHECK(node.training.closing().wind_up(node.outbox));
  CHECK(node.jobs().empty());
}

TEST_CASE("An answer that nobody waits for changes nothing") {
  Trainee node;
  node.start();
  const optim::Job job = node.job();
  node.trained(Trainee::answer(job));
  const std::uint64_t steps = node.training.progress().run().steps;
  node.jobs();
  node.trained(Trainee::answer(job));
  CHECK(node.jobs().empty());
  CHECK(node.training.progress().run().steps == steps);
}

TEST_CASE("The number of whole rounds never goes back") {
  Trainee node;
  node.start(5);
  optim::Done done = Trainee::answer(node.job());
  done.round = 2;
  node.trained(std::move(done));
  CHECK(node.training.progress().run().round == 5);
}

TEST_CASE("A node finishes before the round that would spend more than its epsilon") {
  Trainee node(options_with({.epsilon = 2}));
  node.start();
  for (const double coming : {1.2, 1.7, 2.1}) {
    CHECK_FALSE(node.life.has_come_to<phases::Ending>());
    const optim::Job job = node.job();
    REQUIRE(job.local);
    optim::Done done = Trainee::answer(job);
    done.stats.privacy = {.epsilon = coming - 0.5, .coming = coming};
    node.trained(std::move(done));
    node.advance();
  }
  const optim::Job last = node.job();
  CHECK_FALSE(last.local);
  node.trained(Trainee::answer(last));
  CHECK(node.life.is_in<phases::Ending>());
}

TEST_CASE("A node is idle while its steps are refused or none comes for several rounds") {
  Trainee node;
  node.start();
  const auto is_idle = [&](Duration later) {
    return node.training.progress().is_idle(node.now + later);
  };
  const auto take_round = [&](std::uint64_t steps, std::optional<std::string> problem) {
    node.now += 2s;
    optim::Done done = Trainee::answer(node.job());
    done.stats.steps = steps;
    done.problem = std::move(problem);
    node.trained(std::move(done));
    node.advance();
  };
  CHECK_FALSE(is_idle(1h));
  for (int k = 0; k < 10; ++k) take_round(1, {});
  CHECK_FALSE(is_idle(10s));
  CHECK(is_idle(60s));
  take_round(0, "the loss is no number");
  CHECK(is_idle(0s));
  take_round(1, {});
  CHECK_FALSE(is_idle(0s));
}
