// Many seeds of chaos: the laws hold, every class of fault hits, and a seed repeats.
#include "sim/soak.h"

#include <doctest/doctest.h>

#include "tests/lengths.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

TEST_CASE("All laws hold for many seeds and every class of fault hits") {
  const std::uint64_t seeds = full_or(30U, 2U);
  sim::SoakOptions options{.first_seed = 1, .last_seed = seeds, .threads = 2};
  sim::FaultCounts counts;
  for (const sim::Options& world : {quick_trial(), hidden_trial()}) {
    options.world = world;
    const sim::SoakReport report = sim::soak(options, quick_trainers());
    for (const sim::Verdict& failure : report.failures) FAIL_CHECK(sim::to_text(failure));
    CHECK(report.seeds == seeds);
    counts += report.counts;
  }
  if (!tries_full()) return;  // too few for every class
  for (const sim::NamedCount& count : sim::list(counts)) {
    if (count.name == "forged") continue;  // not drawn
    CAPTURE(std::string(count.name));
    CHECK(count.value > 0);
  }
}

TEST_CASE("All laws hold for many seeds beside a node that is slow") {
  const sim::SoakOptions options{
      .world = straggler_trial(), .first_seed = 1, .last_seed = full_or(20U, 1U), .threads = 2};
  for (const sim::Verdict& failure : sim::soak(options, quick_trainers()).failures)
    FAIL_CHECK(sim::to_text(failure));
}

TEST_CASE("All laws hold for many seeds in which users change settings") {
  const sim::SoakOptions options{
      .world = setting_trial(), .first_seed = 1, .last_seed = full_or(30U, 3U), .threads = 2};
  for (const sim::Verdict& failure :
       sim::soak(options, quick_trainers(setting_training())).failures)
    FAIL_CHECK(sim::to_text(failure));
}

// In the first a node came back after the end, had no edge, since the codec was another than at the
// start, and ended with a mean of its own. In the second a forged change had the last number, and
// no later one could be read.
TEST_CASE("All laws hold for seeds in which a changed setting had parted a node from the others") {
  const sim::Options world = setting_trial();
  for (const std::uint64_t seed : {343U, 498U}) {
    const sim::Scenario scenario =
        sim::draw_scenario(seed, 8, world.phases.chaos, world.hiding, world.phases.sets);
    const sim::Verdict verdict =
        sim::try_scenario(world, quick_trainers(setting_training()), scenario);
    if (!verdict.passed()) FAIL_CHECK(sim::to_text(verdict));
  }
}

TEST_CASE("All laws hold for many seeds over a sequence of graphs") {
  const sim::SoakOptions options{
      .world = sequence_trial(), .first_seed = 1, .last_seed = full_or(20U, 1U), .threads = 2};
  const auto trainers = reference_trainers(sequence_training(), {.n = kSequenceNodes});
  for (const sim::Verdict& failure : sim::soak(options, trainers).failures)
    FAIL_CHECK(sim::to_text(failure));
}

TEST_CASE("All laws hold for many seeds beside a member that gives a false model at the end") {
  const sim::SoakOptions options{
      .world = lying_trial("seal"), .first_seed = 1, .last_seed = full_or(20U, 2U), .threads = 2};
  for (const sim::Verdict& failure : sim::soak(options, quick_trainers()).failures)
    FAIL_CHECK(sim::to_text(failure));
}

// In the first, two nodes came back just after the others had ended, and waited for vectors.
// In the second, one whose clock was ahead of all others' ended alone. In the third, the root of a
// sum left it, and told the node that brought its part again and again to wait. In the fourth,
// behind NATs, a forged call named the last epoch of all, and no later sum could begin.
TEST_CASE("All laws hold for seeds whose run did not end for all") {
  const auto try_seed = [](std::uint64_t seed, const sim::Options& world) {
    const sim::Scenario scenario = sim::draw_scenario(seed, 8, 90s, world.hiding);
    const sim::Verdict verdict = sim::try_scenario(world, quick_trainers(), scenario);
    if (!verdict.passed()) FAIL_CHECK(sim::to_text(verdict));
  };
  for (const std::uint64_t seed : {11512U, 11740U, 30498U}) try_seed(seed, quick_trial());
  try_seed(251, hidden_trial());
}

TEST_CASE("Some seeds come to their goal amid the chaos and some after it") {
  for (const bool is_after : {false, true}) {
    const sim::Scenario scenario = sim::draw_scenario(is_after ? 42 : 3, 8, 90s);
    sim::Timeline timeline;
    sim::try_scenario(quick_trial(), quick_trainers(), scenario, &timeline);
    const std::size_t end = timeline.text().find("finished with one model");
    CHECK(end != std::string::npos);
    CHECK((end > timeline.text().find("every fault has ended")) == is_after);
  }
}

TEST_CASE("All laws hold for many seeds of nodes with keys") {
  sim::SoakOptions options{
      .world = quick_trial(), .first_seed = 1, .last_seed = full_or(15U, 1U), .threads = 2};
  options.world.has_keys = true;
  for (const sim::Verdict& failure : sim::soak(options, quick_trainers()).failures)
    FAIL_CHECK(sim::to_text(failure));
}

TEST_CASE("All laws hold for many seeds of vectors encoded against earlier ones") {
  const sim::SoakOptions options{
      .world = compressed_trial(), .first_seed = 1, .last_seed = full_or(20U, 1U), .threads = 2};
  for (const sim::Verdict& failure :
       sim::soak(options, quick_trainers(compressed_training())).failures)
    FAIL_CHECK(sim::to_text(failure));
}

TEST_CASE("All laws hold for many seeds of forged headers with keys and without") {
  for (const bool has_keys : {false, true})
    for (std::uint64_t seed = 1; seed <= full_or(20U, 2U); ++seed) {
      CAPTURE(has_keys);
      sim::Options trial = quick_trial();
      trial.has_keys = has_keys;
      const sim::Verdict verdict =
          sim::try_scenario(trial, quick_trainers(), written_scenario(seed, kForged));
      if (!verdict.passed()) FAIL_CHECK(sim::to_text(verdict));
    }
}

TEST_CASE("Rounds go on for many seeds beside a node that hangs") {
  // The node itself is far behind when it comes back; that is another law.
  for (std::uint64_t seed = 1; seed <= full_or(20U, 2U); ++seed) {
    const sim::Verdict verdict =
        sim::try_scenario(quick_trial(), quick_trainers(), written_scenario(seed, kHung));
    for (const sim::Violation& violation : verdict.violations)
      CHECK(violation.law != "rounds go on");
  }
}

TEST_CASE("A seed of chaos gives the same history every time and on every thread") {
  for (std::uint64_t seed = 1; seed <= full_or(10U, 1U); ++seed) {
    CAPTURE(seed);
    const sim::Options trial = quick_trial();
    const sim::Scenario scenario = sim::draw_scenario(seed, 8, 60s);
    const sim::Verdict once = sim::try_scenario(trial, quick_trainers(), scenario);
    const auto read = sim::parse_scenario(sim::to_text(scenario));
    REQUIRE(read);
    const sim::Verdict again = sim::try_scenario(trial, quick_trainers(), *read);
    CHECK(once.event_hash == again.event_hash);
    CHECK(once.events == again.events);
  }
  sim::SoakOptions options{.world = quick_trial(), .first_seed = 1, .last_seed = full_or(6U, 2U)};
  const sim::SoakReport alone = sim::soak(options, quick_trainers());
  options.threads = 3;
  CHECK(sim::soak(options, quick_trainers()).hash == alone.hash);
}

TEST_CASE("Seeds that fail are told by number while others are still tried") {
  sim::SoakOptions options{.world = quick_trial(2), .first_seed = 4, .last_seed = 6};
  options.world.phases = {
      .chaos = 10s, .healed = 10s, .agree_within = 0s};  // nobody agrees so soon
  std::vector<std::vector<std::uint64_t>> told;
  options.told = [&](std::uint64_t, const std::vector<std::uint64_t>& failed) {
    told.push_back(failed);
  };
  sim::soak(options, quick_trainers());
  CHECK(told == std::vector<std::vector<std::uint64_t>>{{4}, {4, 5}, {4, 5, 6}});
}

TEST_CASE("A scenario that fails shrinks to the faults that make it fail") {
  sim::Options trial = quick_trial(4);
  trial.phases = {.healed = 30s, .agree_within = 0s};  // nobody agrees so soon
  const auto scenario = sim::parse_scenario(
      "seed 3\nnodes 4\nchaos 30 s\n"
      "at 5 s: slow node-1 2 for 3 s\nat 6 s: pause node-2 for 1 s\nat 8 s: lose 0.1 for 4 s\n"
      "at 12 s: part node-0 node-1 for 18 s\nat 14 s: clog node-0 node-1 for 2 s\n");
  REQUIRE(scenario);
  const sim::Verdict failure = sim::try_scenario(trial, quick_trainers(), *scenario);
  REQUIRE_FALSE(failure.passed());
  CHECK(failure.violations.front().law == "all agree");
  const sim::Verdict shorter = sim::shrink(trial, quick_trainers(), failure);
  CHECK(sim::to_text(shorter.scenario) ==
        "seed 3\nnodes 4\nchaos 30 s\nat 12 s: part node-0 node-1 for 18 s\n");
}

TEST_CASE("A summary of a run under faults changes nothing of it") {
  sim::Options trial = quick_trial(4);
  const sim::Scenario scenario = sim::draw_scenario(5, 4, 30s);
  const sim::Verdict plain = sim::try_scenario(trial, quick_trainers(), scenario);
  trial.trace = 1s;
  gossip::Summary summary;
  const sim::Verdict seen = sim::try_scenario(trial, quick_trainers(), scenario, nullptr, &summary);
  CHECK(seen.event_hash == plain.event_hash);
  CHECK(summary.event_hash == plain.event_hash);
  CHECK(summary.goal.reached == plain.passed());
  CHECK(summary.nodes.size() == 4);
  CHECK_FALSE(summary.series.empty());
  REQUIRE(summary.trace.size() > 30);
  for (std::size_t k = 1; k + 1 < summary.trace.size(); ++k)
    CHECK(summary.trace[k].time_s == doctest::Approx(static_cast<double>(k)));
}

TEST_CASE("A summary of a run that fails names law and time and node") {
  sim::Options trial = quick_trial(2);
  trial.phases = {.healed = 30s, .agree_within = 0s};
  const auto scenario = sim::parse_scenario("nodes 2\nchaos 30 s\nat 12 s: part node-0 for 18 s\n");
  REQUIRE(scenario);
  gossip::Summary summary;
  const sim::Verdict failure =
      sim::try_scenario(trial, quick_trainers(), *scenario, nullptr, &summary);
  REQUIRE_FALSE(failure.passed());
  REQUIRE_FALSE(summary.violations.empty());
  CHECK(summary.violations.front().law == "all agree");
  CHECK(summary.violations.front().time_s == doctest::Approx(30));
  CHECK(summary.violations.front().node.starts_with("node-"));
  CHECK_FALSE(summary.violations.front().text.empty());
}

TEST_CASE("A timeline tells of faults and of what nodes do about them") {
  const auto scenario =
      sim::parse_scenario("nodes 3\nchaos 20 s\nat 12.5 s: crash node-1 for 4 s\n");
  REQUIRE(scenario);
  sim::Timeline timeline;
  const sim::Verdict verdict =
      sim::try_scenario(quick_trial(3), quick_trainers(), *scenario, &timeline);
  CHECK(verdict.passed());
  const std::string& text = timeline.text();
  CHECK(text.find("    12.500 s  node-1    FAULT crash node-1 for 4 s\n") != std::string::npos);
  CHECK(text.find("    16.500 s  node-1    END OF crash node-1 for 4 s\n") != std::string::npos);
  CHECK(text.find("    20.000 s  all       every fault has ended\n") != std::string::npos);
  CHECK(text.find("node-0    node-1 is back") != std::string::npos);
}
