// The harness finds every bug that is planted (base/planted.h), and none where none is.
#include "base/planted.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "sim/scenario.h"
#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

// Where all are equally fast nobody has to be waited for.
sim::TrialOptions trial_for(planted::Bug bug) {
  return bug == planted::Bug::never_waits_again ? straggler_trial() : quick_trial();
}

// Faults that chaos draws in few seeds are written down for the bugs that need them.
sim::SoakReport search_forged(planted::Bug bug, std::uint64_t seeds) {
  planted::active = bug;
  sim::SoakReport report;
  for (std::uint64_t seed = 1; seed <= seeds && report.failures.empty(); ++seed) {
    const auto scenario = sim::parse_scenario(
        fmt::format("seed {}\nnodes 8\nchaos 60 s\nat 5 s: forge 0.01 for 50 s\n", seed));
    sim::Verdict verdict = sim::try_scenario(quick_trial(), quick_trainers(), *scenario);
    if (!verdict.violations.empty()) report.failures.push_back(std::move(verdict));
  }
  planted::active = planted::Bug::none;
  return report;
}

sim::SoakReport search(planted::Bug bug, const sim::TrialOptions& trial, std::uint64_t seeds) {
  planted::active = bug;
  const sim::SoakOptions options{
      .trial = trial, .first_seed = 1, .last_seed = seeds, .threads = 2, .failures_limit = 1};
  sim::SoakReport report = sim::soak(options, quick_trainers());
  planted::active = planted::Bug::none;
  return report;
}

}  // namespace

TEST_CASE("Every planted bug is found within two hundred seeds") {
  for (const planted::Named& named : planted::kBugs) {
    const std::string name(named.name);
    CAPTURE(name);
    const bool is_forged = named.bug == planted::Bug::believes_any_round ||
                           named.bug == planted::Bug::keeps_broken_edge;
    const sim::SoakReport report =
        is_forged ? search_forged(named.bug, 200) : search(named.bug, trial_for(named.bug), 200);
    CHECK_FALSE(report.failures.empty());
    if (!report.failures.empty()) MESSAGE(name << ": " << sim::to_text(report.failures.front()));
  }
}

TEST_CASE("Without a planted bug none is found") {
  CHECK(search_forged(planted::Bug::none, 20).failures.empty());
  for (const sim::TrialOptions& trial : {quick_trial(), straggler_trial()}) {
    const sim::SoakReport report = search(planted::Bug::none, trial, 20);
    for (const sim::Verdict& failure : report.failures) FAIL_CHECK(sim::to_text(failure));
  }
}
