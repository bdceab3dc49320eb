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

const std::string kForged = "forge 0.01 for 50 s";
// Its neighbours have heard it, and it lives: only their patience ends their rounds.
const std::string kHung = "slow node-3 80 for 50 s";

std::string fault_for(planted::Bug bug) {
  if (bug == planted::Bug::believes_any_round || bug == planted::Bug::keeps_broken_edge)
    return kForged;
  return bug == planted::Bug::never_late ? kHung : "";
}

// Faults that chaos draws in few seeds are written down for the bugs that need them.
sim::SoakReport search_written(planted::Bug bug, std::uint64_t seeds, const std::string& fault) {
  planted::active = bug;
  sim::SoakReport report;
  const bool goes_on = bug == planted::Bug::none;
  for (std::uint64_t seed = 1; seed <= seeds && (goes_on || report.failures.empty()); ++seed) {
    const auto scenario =
        sim::parse_scenario(fmt::format("seed {}\nnodes 8\nchaos 60 s\nat 5 s: {}\n", seed, fault));
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
    const std::string fault = fault_for(named.bug);
    const sim::SoakReport report = fault.empty() ? search(named.bug, trial_for(named.bug), 200)
                                                 : search_written(named.bug, 200, fault);
    CHECK_FALSE(report.failures.empty());
    if (!report.failures.empty()) MESSAGE(name << ": " << sim::to_text(report.failures.front()));
  }
}

TEST_CASE("Without a planted bug rounds go on beside a node that hangs") {
  // The node itself is far behind when it comes back; that is another law.
  const sim::SoakReport report = search_written(planted::Bug::none, 20, kHung);
  for (const sim::Verdict& failure : report.failures)
    for (const sim::Violation& violation : failure.violations)
      CHECK(violation.law != "rounds go on");
}

TEST_CASE("Without a planted bug none is found") {
  CHECK(search_written(planted::Bug::none, 20, kForged).failures.empty());
  for (const sim::TrialOptions& trial : {quick_trial(), straggler_trial()}) {
    const sim::SoakReport report = search(planted::Bug::none, trial, 20);
    for (const sim::Verdict& failure : report.failures) FAIL_CHECK(sim::to_text(failure));
  }
}
