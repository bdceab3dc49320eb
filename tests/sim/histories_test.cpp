// A table of histories: what nodes do under twenty seeds of chaos, with every algorithm in every
// schedule where it is legal. A change that is meant to keep behaviour keeps the table. One that is
// meant to change it writes the table anew, with TEST_REWRITE=1, and says so.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sim/legal_ways.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;
using namespace std::chrono_literals;
using gossip::Missing, topology::Kind;
using optim::AlgorithmRow, optim::algorithm_named;

namespace {

constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kFewSeeds = 1;  // of each row, where TEST_ALL is not set
constexpr std::size_t kNodes = 6;

// Steps are so short, and one node so slow, that the schedules differ; all else is as in the soak.
sim::Options trial_of(const LegalWay& row, const optim::Options& training) {
  sim::Options trial;
  trial = reference_world(kNodes, row.kind, training);
  trial.base.schedule = row.schedule;
  trial.base.topology.sequence = row.sequence;
  trial.base.quorum = row.quorum;
  trial.base.missing = row.missing;
  trial.base.staleness = 2;
  trial.compute = 300ms;
  trial.straggler = 3;
  trial.notes_messages = true;
  trial.network.delay = 5ms;
  trial.network.jitter = 10ms;
  trial.phases = {.chaos = 30s, .healed = 15s, .agree_within = 15s, .distance_limit = 1e9};
  return trial;
}

// Without the faults whose effect depends on how messages are encoded, and without a goal.
sim::Scenario scenario_of(std::uint64_t seed) {
  sim::Scenario scenario = sim::draw_scenario(seed, kNodes, 30s);
  scenario.goal = {};
  std::erase_if(scenario.faults, [](const sim::Fault& fault) {
    return fault.kind == sim::FaultKind::limit || fault.kind == sim::FaultKind::forge;
  });
  return scenario;
}

// Half of the hash: a table that a person looks at.
std::string history(const LegalWay& row, std::uint64_t seed) {
  const optim::Options training = training_by(row, fading_training());
  const sim::Verdict verdict =
      sim::try_scenario(trial_of(row, training),
                        reference_trainers(training, {.n = kNodes, .d = 4}), scenario_of(seed));
  INFO(row.name, ", seed ", seed);
  for (const sim::Violation& violation : verdict.violations)
    FAIL_CHECK(sim::to_text(violation, seed));
  CHECK(verdict.rounds > 0);
  return fmt::format("{:08x}", verdict.behavior_hash >> 32);
}

std::string path() {
  return std::string(STARLING_ROOT) + "/tests/sim/histories.txt";
}

constexpr std::string_view kHead =
    "# What nodes do under chaos; see tests/sim/histories_test.cpp. One paragraph for each\n"
    "# combination of algorithm and schedule, with a hash for each of the seeds 1 to 20.\n"
    "# TEST_REWRITE=1 writes this file, TEST_ALL=1 compares all of it.\n";

// By the name of the row.
using Table = std::map<std::string, std::vector<std::string>>;

Table read_table() {
  std::ifstream file(path());
  Table table;
  std::string line, name;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != ' ') {
      name = line;
      continue;
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) table[name].push_back(word);
  }
  return table;
}

void write_table() {
  std::string text(kHead);
  for (const LegalWay& row : legal_ways()) {
    text += "\n" + row.name + "\n";
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      text += (seed % 10 == 1 ? "  " : " ") + history(row, seed);
      if (seed % 10 == 0) text += "\n";
    }
  }
  std::ofstream(path()) << text;
}

// The seeds differ from row to row, so that each is tried with some.
std::vector<std::uint64_t> seeds_of(std::size_t row) {
  const bool tries_all = std::getenv("TEST_ALL") != nullptr;
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t k = 0; k < (tries_all ? kSeeds : kFewSeeds); ++k)
    seeds.push_back(1 + (row * kFewSeeds + k) % kSeeds);
  return seeds;
}

}  // namespace

TEST_CASE("Nodes do under chaos what the table of histories says") {
  if (std::getenv("TEST_REWRITE")) return write_table();
  const Table table = read_table();
  const std::vector<LegalWay> rows = legal_ways();
  CHECK(table.size() == rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto known = table.find(rows[k].name);
    REQUIRE_MESSAGE(known != table.end(), rows[k].name);
    REQUIRE(known->second.size() == kSeeds);
    for (const std::uint64_t seed : seeds_of(k)) {
      INFO(rows[k].name, ", seed ", seed);
      CHECK(history(rows[k], seed) == known->second[seed - 1]);
    }
  }
}

TEST_CASE("A history depends on what nodes do and not on the numbers of their models") {
  LegalWay row = legal_ways().front();
  const auto run = [&row](double rate, Duration delay) {
    optim::Options training = fading_training();
    training.learning_rate = rate;
    sim::Options trial = trial_of(row, training);
    trial.network.delay = delay;
    return sim::try_scenario(trial, reference_trainers(training, {.n = kNodes, .d = 4}),
                             scenario_of(1));
  };
  const sim::Verdict one = run(.1, 5ms), other = run(.05, 5ms), later = run(.1, 6ms);
  CHECK(one.behavior_hash == other.behavior_hash);
  CHECK(one.event_hash != other.event_hash);
  CHECK(one.behavior_hash != later.behavior_hash);
}
