// The harness finds every bug that is planted (base/planted.h). That it finds none where none is,
// with the same trials, tests/sim/soak_test.cpp says.
#include "base/planted.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

// Of what is remembered of vectors.
bool is_of_codec(std::size_t bug) {
  return bug == planted::bug("step_one_sided") || bug == planted::bug("replica_misses");
}

bool is_of_settings(std::size_t bug) {
  return bug == planted::bug("set_late") || bug == planted::bug("renewal_missed");
}

// Where all are equally fast nobody has to be waited for.
sim::Options trial_for(std::size_t bug) {
  if (is_of_codec(bug)) return compressed_trial();
  if (bug == planted::bug("cut_unseen")) return hidden_trial();
  if (bug == planted::bug("undamped_dual")) return sequence_trial();
  if (is_of_settings(bug)) return setting_trial();
  if (bug == planted::bug("seals_unseen")) return lying_trial("seal");
  if (bug == planted::bug("nan_averaged")) return lying_trial("nan");
  if (bug == planted::bug("late_awaited")) return lying_trial("silent");
  const bool waits =
      bug == planted::bug("never_waits_again") || bug == planted::bug("waits_for_nobody");
  return waits ? straggler_trial() : quick_trial();
}

sim::TrainerFactory trainers_for(std::size_t bug) {
  if (bug == planted::bug("undamped_dual"))
    return reference_trainers(sequence_training(), {.n = kSequenceNodes});
  if (is_of_settings(bug)) return quick_trainers(setting_training());
  return quick_trainers(is_of_codec(bug) ? compressed_training() : fading_training());
}

std::string_view fault_for(std::size_t bug) {
  if (bug == planted::bug("believes_any_round") || bug == planted::bug("keeps_broken_edge"))
    return kForged;
  return bug == planted::bug("never_late") ? kHung : "";
}

// The seed before the first one: TEST_SEED in the environment asks for others.
std::uint64_t seeds_before() {
  const char* other = std::getenv("TEST_SEED");
  return other ? std::stoull(other) : 0;
}

sim::SoakReport search_written(std::size_t bug, std::uint64_t seeds, std::string_view fault) {
  planted::active = bug;
  sim::SoakReport report;
  for (std::uint64_t k = 1; k <= seeds && report.failures.empty(); ++k) {
    const std::uint64_t seed = seeds_before() + k;
    sim::Verdict verdict =
        sim::try_scenario(quick_trial(), quick_trainers(), written_scenario(seed, fault));
    if (!verdict.violations.empty()) report.failures.push_back(std::move(verdict));
  }
  planted::active = planted::kNoBug;
  return report;
}

sim::SoakReport search(std::size_t bug, const sim::Options& trial, std::uint64_t seeds) {
  planted::active = bug;
  const sim::SoakOptions options{.world = trial,
                                 .first_seed = seeds_before() + 1,
                                 .last_seed = seeds_before() + seeds,
                                 .failures_limit = 1};
  sim::SoakReport report = sim::soak(options, trainers_for(bug));
  planted::active = planted::kNoBug;
  return report;
}

// Which law finds each, for the map of laws (tests/README.md).
constexpr char kFoundPath[] = STARLING_ROOT "/tests/planted/found.txt";
constexpr std::string_view kFoundHead =
    "# Which law finds each planted bug first; TEST_REWRITE=1 test_planted writes this file.\n";

std::string kept_table() {
  std::ifstream file(kFoundPath);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("Every planted bug is found within two hundred seeds by the law that the map names") {
  std::string table(kFoundHead);
  for (std::size_t bug = 0; bug < planted::kBugs.size(); ++bug) {
    const std::string name(planted::kBugs[bug]);
    CAPTURE(name);
    const std::string_view fault = fault_for(bug);
    const sim::SoakReport report =
        fault.empty() ? search(bug, trial_for(bug), 200) : search_written(bug, 200, fault);
    CHECK_FALSE(report.failures.empty());
    if (report.failures.empty()) continue;
    const sim::Verdict& verdict = report.failures.front();
    MESSAGE(name << ": " << sim::to_text(verdict));
    table += name + ": " + verdict.violations.front().law + "\n";
  }
  if (std::getenv("TEST_REWRITE")) std::ofstream(kFoundPath) << table;
  if (seeds_before() == 0) CHECK(table == kept_table());
}
