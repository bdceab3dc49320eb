#include "daemon/cli/simulate/main_simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/cli/help/seed_range.h"
#include "daemon/cli/simulate/combinations.h"
#include "daemon/cli/simulate/main_chaos.h"
#include "daemon/cli/simulate/main_seeds.h"
#include "daemon/cli/simulate/main_setup.h"
#include "daemon/cli/terminal/display.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/process/log.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/csv_rows.h"
#include "daemon/rest/status_json.h"
#include "daemon/rest/summary_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "sim/scenario.h"
#include "sim/simulation.h"

namespace starling::daemon {
namespace {

// Of the keys that the command line leaves open.
Result<std::vector<Combination>> combinations_of(const CommandLine& line) {
  std::vector<std::string> mistakes;
  const Settings given =
      gather_settings(simulation_schema(), line.value("config"), line.keys, mistakes);
  if (!mistakes.empty()) return fail("{}", mistakes.front());
  std::vector<std::string_view> open(varied_keys().begin(), varied_keys().end());
  std::erase_if(open, [&](std::string_view key) {
    return std::ranges::find(line.keys, key, &SettingSources::Pair::first) != line.keys.end();
  });
  std::vector<Combination> legal = all_combinations(simulation_schema(), open);
  std::erase_if(legal, [&](const Combination& one) { return !is_legal(one, given); });
  if (legal.empty()) return fail("no choices that are left open go together with these keys");
  return covering_pairs(legal);
}

// Where the graph changes from round to round, an outer momentum continues the effect of one pair
// while the next pair is another one, and admm, with a state for each edge, exchanges over few
// edges a round. The models agree more slowly by that factor (docs/simulator.md).
void give_time(Setup& setup) {
  constexpr int kSlowByTurns = 7;
  const gossip::Options& node = setup.options.base;
  const bool is_slow =
      setup.config.learner.optim.outer != optim::OuterKind::none || node.needs.mixing_share == 0;
  if (is_slow && node.topology.sequence.moves()) setup.options.phases.healed *= kSlowByTurns;
}

// A row for each combination, as it ends. Gives the exit code.
Outcome<int> simulate_combinations(const CommandLine& line) {
  for (const char* other : {"scenario", "shrink", "timeline", "json"})
    if (line.has(other)) return fail("--every-combination prints a table: leave out --{}", other);
  TRY(const std::vector<Combination> combinations, combinations_of(line));
  std::size_t failed = 0;
  for (const Combination& combination : combinations) {
    CommandLine own = line;
    own.keys.insert(own.keys.end(), combination.begin(), combination.end());
    TRY(Setup setup, make_setup(own));
    give_time(setup);
    TRY(const Tally tally, tally_chaos(own, setup.options, setup.chaos_trainers));
    failed += tally.failures > 0;
    fmt::print("{:<56} {:>4} seeds {:>3} fail  {}\n", row_name(combination), tally.seeds,
               tally.failures, tally.first_failure);
    std::fflush(stdout);
  }
  fmt::print("{} combinations, {} fail\n", combinations.size(), failed);
  return failed > 0 ? kExitFailed : kExitDone;
}

// Prints the settings that the user did not choose.
void introduce(const Setup& setup) {
  if (const std::string& reason = setup.config.algorithm_reason; !reason.empty())
    fmt::print("Algorithm {}: {}\n", setup.options.base.algorithm, reason);
  if (!setup.default_goal.empty()) fmt::print("No goal is given: {}\n", setup.default_goal);
  std::fflush(stdout);
}

// "round 37 of 100, 1.25 s of virtual time, loss 0.331".
std::string progress_text(const gossip::Goal& goal, Time now, const gossip::Progress& progress) {
  std::string text = fmt::format("round {}", progress.round);
  if (goal.rounds > 0) text += fmt::format(" of {}", goal.rounds);
  text += fmt::format(", {:.3g} s of virtual time", seconds(now));
  return std::isfinite(progress.loss) ? text + fmt::format(", loss {:.3g}", progress.loss) : text;
}

// Gives the exit code.
Outcome<int> simulate_once(const Setup& setup, bool as_json,
                           const std::optional<std::string>& csv) {
  const auto started = std::chrono::steady_clock::now();
  ProgressLine progress;
  std::string rows = csv_header(kPointColumns);
  gossip::Summary summary = sim::simulate(
      setup.options, setup.trainers(setup.options.seed),
      [&](std::size_t node, Time now, const gossip::Progress& news) {
        const nlohmann::json point = csv ? point_json(news) : nlohmann::json();
        if (csv) put_csv_rows(rows, fmt::format("node-{}", node), {&point, 1}, kPointColumns);
        progress.tell([&] { return progress_text(setup.options.base.goal, now, news); });
      });
  progress.clear();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  summary.wall_s = wall.count();
  if (as_json)
    fmt::print("{}\n", summary_json(summary).dump(2));
  else
    fmt::print("{}", summary_text(summary));
  if (csv)
    if (const auto written = replace_file(*csv, rows); !written)
      return complaint(kExitFailed, "--csv: {}", written.error().text);
  if (!summary.violations.empty()) return kExitFailed;
  const bool is_missed = setup.options.base.goal.is_set() && !summary.goal.reached;
  return is_missed ? kExitGoalNotReached : kExitDone;
}

}  // namespace

Outcome<int> simulate(const CommandLine& line) {
  if (line.has("csv") && (line.has("seeds") || line.has("every-combination") || is_chaos(line)))
    return fail("--csv writes one run without faults; leave out the others");
  if (line.has("every-combination")) return simulate_combinations(line);
  TRY(const std::shared_ptr<const sim::Scenario> scenario, read_scenario(line));
  SetupHints hints;
  if (scenario) hints.nodes = scenario->nodes;
  TRY(const Setup setup, make_setup(line, hints));
  if (is_chaos(line))
    return simulate_chaos(line, setup.options, setup.chaos_trainers, setup.seeds, scenario.get());
  if (line.has("timeline") || line.has("shrink"))
    return fail("--timeline and --shrink belong to --chaos or --scenario");
  if (!line.has("json")) introduce(setup);
  if (!line.has("seeds")) return simulate_once(setup, line.has("json"), line.value("csv"));
  return simulate_seeds(line, setup.options, setup.trainers, setup.seeds);
}

}  // namespace starling::daemon
