#include "daemon/cli/simulate/main_setup.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "daemon/process/log.h"
#include "daemon/setup/live_settings.h"
#include "daemon/setup/setting_sources.h"
#include "daemon/setup/table_recipe.h"
#include "models/data/load.h"

namespace starling::daemon {
namespace {

// For a run without a goal. Larger: a first look takes longer; smaller: it shows less.
constexpr const char* kDefaultRounds = "100";

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

}  // namespace

Result<Setup> read_setup(const CommandLine& line, const SetupHints& hints) {
  TRY(const std::int64_t given,
      whole_number("nodes", line.value("nodes").value_or("8"), 1, kMembersLimit));
  const std::int64_t nodes = hints.nodes ? static_cast<std::int64_t>(*hints.nodes) : given;
  TRY(const std::int64_t seed,
      whole_number("seed", line.value("seed").value_or("1"), 0, INT64_MAX));
  std::vector<std::string> mistakes;
  Settings settings =
      gather_settings(simulation_schema(), line.value("config"), line.keys, mistakes);
  for (const auto& [key, value] : hints.defaults)
    if (settings.is_default(key)) settings.set(key, value, "rehearsal");
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

Result<Setup> make_setup(const CommandLine& line, const SetupHints& hints) {
  TRY(Setup setup, read_setup(line, hints));
  TRY_DO(add_trainers(setup));
  for (const std::string& doubt : doubts(setup.config, simulation_schema()))
    log::warning("{}", doubt);
  return setup;
}

const Schema& simulation_schema() {
  static const Schema kSchema = [] {
    Schema schema = daemon::schema();
    sim::describe(schema);
    return schema;
  }();
  return kSchema;
}

Result<void> check_simulation(const CommandLine& line) {
  TRY_DO(read_setup(line));
  return {};
}

}  // namespace starling::daemon
