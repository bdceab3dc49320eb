#include "daemon/cli/simulate/main_simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/limits.h"
#include "base/text.h"
#include "daemon/cli/help/seed_range.h"
#include "daemon/cli/simulate/combinations.h"
#include "daemon/cli/simulate/main_chaos.h"
#include "daemon/cli/simulate/main_seeds.h"
#include "daemon/cli/terminal/display.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/process/log.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/csv_rows.h"
#include "daemon/rest/status_json.h"
#include "daemon/rest/summary_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/live_settings.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/table_recipe.h"
#include "models/data/load.h"
#include "sim/scenario.h"
#include "sim/simulation.h"

namespace starling::daemon {
namespace {

// For a run without a goal. Larger: a first look takes longer; smaller: it shows less.
constexpr const char* kDefaultRounds = "100";

const Schema& simulation_schema() {
  static const Schema kSchema = [] {
    Schema schema = daemon::schema();
    sim::describe(schema);
    return schema;
  }();
  return kSchema;
}

struct Setup {
  sim::Options options;
  Config config;
  bool are_seeded = false;   // the seed of a run is that of training too
  std::string default_goal;  // set in the absence of a user's; empty: none
  SeedRange seeds;
  sim::SeededTrainers trainers;        // for the seed of a run
  sim::TrainerFactory chaos_trainers;  // whose chance is that of node.seed under every fault
};

Result<std::int64_t> whole_number(std::string_view name, const std::string& text, std::int64_t low,
                                  std::int64_t high) {
  const auto value = parse_integer(text);
  if (!value || *value < low || *value > high)
    return fail("{} = \"{}\": expected a whole number from {} to {}", name, text, low, high);
  return *value;
}

// A trainer for every node on the one data set, with a fixed part if sites own their data, and with
// random numbers of the given seed. The first nodes are relays.
Result<sim::SeededTrainers> seeded_trainers(const Config& config, std::size_t nodes,
                                            std::size_t relays) {
  TRY(auto loaded, models::load(config.learner.data));
  TRY_DO(validate_goal(config, loaded));
  auto data = std::make_shared<const models::Data>(std::move(loaded));
  const auto make = [learner = config.learner, parts = deals_fixed_parts(config), data, nodes,
                     relays](std::uint64_t seed,
                             std::size_t index) -> Result<std::unique_ptr<optim::Trainer>> {
    models::LearnerOptions own = learner;
    own.optim.seed = seed;
    const auto clock = [] { return Time{}; };
    if (index < relays) return models::make_relay(own, clock);
    if (parts) own.data.shard = {models::ShardChoice::Kind::part, index - relays, nodes - relays};
    return models::make_trainer(own, data, fmt::format("node-{}", index), clock);
  };
  TRY_DO(make(config.learner.optim.seed, nodes - 1));
  return [make](std::uint64_t seed) -> sim::TrainerFactory {
    return [make, seed](std::size_t index) { return *make(seed, index); };
  };
}

// Returns the goal set; nothing if the user set one.
std::string set_default_goal(Settings& settings) {
  if (names_goal(settings) || !settings.is_default("sim.seconds")) return {};
  settings.set("stop.rounds", kDefaultRounds, "simulate");
  return fmt::format("stop.rounds = {}", kDefaultRounds);
}

Result<void> add_trainers(Setup& setup) {
  TRY(const sim::SeededTrainers seeded,
      seeded_trainers(setup.config, setup.options.nodes, setup.options.relays));
  setup.chaos_trainers = seeded(setup.config.learner.optim.seed);
  setup.trainers = seeded;
  if (!setup.are_seeded)
    setup.trainers = [same = setup.chaos_trainers](std::uint64_t) { return same; };
  return {};
}

// A liar reads all vectors.
Result<void> check_liars(const sim::Options& options) {
  if (!options.lie->vector) return {};
  if (options.liars + options.relays >= options.nodes)
    return fail("sim.liars = {}: expected fewer than the nodes that train, {}", options.liars,
                options.nodes - options.relays);
  if (!options.format)
    return fail(
        "sim.lie = {}: expected exchange.codec = native, f64, f32 or bf16, whose vectors a "
        "liar can read",
        options.lie->name);
  return {};
}

// Without trainers.
Result<Setup> read_setup(const CommandLine& line, const sim::Scenario* scenario) {
  TRY(const std::int64_t given,
      whole_number("nodes", line.value("nodes").value_or("8"), 1, kMembersLimit));
  const std::int64_t nodes = scenario ? static_cast<std::int64_t>(scenario->nodes) : given;
  TRY(const std::int64_t seed,
      whole_number("seed", line.value("seed").value_or("1"), 0, INT64_MAX));
  std::vector<std::string> mistakes;
  Settings settings =
      gather_settings(simulation_schema(), line.value("config"), line.keys, mistakes);
  Setup setup;
  setup.default_goal = set_default_goal(settings);
  apply_recipe(table_recipe(settings), settings);
  Reader reader(settings);
  setup.options = sim::read_options(reader);
  TRY_DO(reader.verdict());
  // Whether other paces than 1 are allowed is the same question for all of them.
  for (const double pace : setup.options.paces)
    if (pace != 1) settings.set("optim.pace", fmt::format("{}", pace), "sim.paces");
  TRY(setup.config, read_config(settings, std::move(mistakes)));
  const Config& config = setup.config;
  setup.are_seeded = settings.is_default("node.seed");
  setup.options.nodes = static_cast<std::size_t>(nodes);
  setup.options.seed = static_cast<std::uint64_t>(seed);
  if (setup.options.hiding.nodes >= setup.options.nodes)
    return fail("sim.hidden = {}: expected fewer than the nodes, {}", setup.options.hiding.nodes,
                nodes);
  if (setup.options.relays >= setup.options.nodes)
    return fail("sim.relays = {}: expected fewer than the nodes, {}", setup.options.relays, nodes);
  setup.options.base = config.node;
  setup.options.base.reconfigure =
      reconfigure_by(std::make_shared<const LiveSettings>(settings, config));
  setup.options.format = readable_format(config.learner.optim);
  setup.options.aggregation = config.learner.optim.aggregation;
  TRY_DO(check_liars(setup.options));
  TRY(setup.seeds, read_seeds(line, setup.options.seed));
  if (config.learner.optim.aggregation.slicing.is_masked)
    return fail(
        "exchange.masks = true: members mask by their keys, and simulated nodes have none; "
        "expected false");
  TRY_DO(validate_cluster(config, setup.options.nodes));
  return setup;
}

Result<Setup> make_setup(const CommandLine& line, const sim::Scenario* scenario) {
  TRY(Setup setup, read_setup(line, scenario));
  TRY_DO(add_trainers(setup));
  for (const std::string& doubt : doubts(setup.config, simulation_schema()))
    log::warning("{}", doubt);
  return setup;
}

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
    TRY(Setup setup, make_setup(own, nullptr));
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
  TRY(const Setup setup, make_setup(line, scenario.get()));
  if (is_chaos(line))
    return simulate_chaos(line, setup.options, setup.chaos_trainers, setup.seeds, scenario.get());
  if (line.has("timeline") || line.has("shrink"))
    return fail("--timeline and --shrink belong to --chaos or --scenario");
  if (!line.has("json")) introduce(setup);
  if (!line.has("seeds")) return simulate_once(setup, line.has("json"), line.value("csv"));
  return simulate_seeds(line, setup.options, setup.trainers, setup.seeds);
}

Result<void> check_simulation(const CommandLine& line) {
  TRY_DO(read_setup(line, nullptr));
  return {};
}

}  // namespace starling::daemon
