// The harness finds every bug that is planted (base/planted.h), and none where none is.
#include "base/planted.h"

#include <doctest/doctest.h>

#include "tests/sim/trials.h"

using namespace starling;
using namespace starling::test;

namespace {

// Where all are equally fast nobody has to be waited for, and where rounds are few a vector seldom
// comes twice.
sim::TrialOptions trial_for(planted::Bug bug) {
  const bool is_busy =
      bug == planted::Bug::never_waits_again || bug == planted::Bug::pair_mixed_twice;
  return is_busy ? straggler_trial() : quick_trial();
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
    const sim::SoakReport report = search(named.bug, trial_for(named.bug), 200);
    CHECK_FALSE(report.failures.empty());
    if (!report.failures.empty()) MESSAGE(name << ": " << sim::to_text(report.failures.front()));
  }
}

TEST_CASE("Without a planted bug none is found") {
  for (const sim::TrialOptions& trial : {quick_trial(), straggler_trial()}) {
    const sim::SoakReport report = search(planted::Bug::none, trial, 20);
    for (const sim::Verdict& failure : report.failures) FAIL_CHECK(sim::to_text(failure));
  }
}
