#include "daemon/cli/simulate/main_rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/quantity.h"
#include "base/text.h"
#include "daemon/cli/simulate/main_setup.h"
#include "daemon/cli/sweep/grid.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/cores.h"
#include "daemon/process/whole_file.h"
#include "sim/rehearsal.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;
using sim::kDay_s;
using std::chrono::steady_clock;

constexpr std::size_t kPlanBytesLimit = 1 << 20;
// The search for better settings begins no further rehearsal after that time.
constexpr std::chrono::seconds kSearchTime{20};
// Virtual time of a rehearsal, times its machines: alone, and as one of many.
constexpr double kAlone_s = 1.5e5, kOfMany_s = 3e4;
// The stand-in takes no more steps in a round, each for several of the plan's.
constexpr std::int64_t kStandInSteps = 100;

// A model that learns in seconds, where the user names none.
const std::vector<SettingSources::Pair> kStandIn = {
    {"model.kind", "softmax"},        {"data.samples", "2000"}, {"optim.learning-rate", "0.5"},
    {"optim.batch-size", "16"},       {"eval.every", "1"},      {"eval.samples", "200"},
    {"cluster.expect-patience", "60"}};

struct Question {
  sim::FleetPlan plan;
  double loss = 0;
  std::uint64_t rounds = 0;
};

// One way to run the fleet, and what came of it.
struct Try {
  GridPoint settings;  // over those of the file and the command line
  std::optional<sim::Rehearsal> found = {};
};

Result<sim::FleetPlan> read_plan(const CommandLine& line) {
  const std::string& path = line.positional.front();
  TRY(const auto bytes, read_file(path, kPlanBytesLimit));
  if (!bytes) return fail("{}: there is no such file", path);
  auto plan = sim::parse_fleet_plan(as_text(*bytes));
  if (!plan) return fail("{}: {}", path, plan.error().text);
  if (const auto size = line.value("model-bytes")) {
    TRY(plan->model_bytes, parse_bytes(*size));
  }
  if (const auto time = line.value("step-time")) {
    const auto step_s = parse_seconds(*time);
    if (!step_s || !(*step_s > 0 && *step_s <= kDay_s))
      return fail("--step-time {}: expected a time above 0 and up to a day, as 1.2 or 800ms",
                  *time);
    plan->step_s = *step_s;
  }
  if (!(plan->model_bytes > 0))
    return fail("{}: expected \"model SIZE\", or --model-bytes, as 1GB", path);
  if (!(plan->step_s > 0)) return fail("{}: expected \"step TIME\", or --step-time, as 1.2", path);
  return *std::move(plan);
}

// A model that a link does not carry within a day is a mistake.
Result<void> check_size(const sim::FleetPlan& plan) {
  const auto [rate, where] = plan.thinnest();
  const double vector_s = plan.model_bytes / rate;
  if (vector_s <= kDay_s) return {};
  return fail(
      "a model of {} takes {} over the link of {}, {} Mbit/s; expected at most a day: a smaller "
      "model, or a faster link",
      human_bytes(plan.model_bytes), human_duration(vector_s), where, human_number(8e-6 * rate));
}

Result<Question> read_question(const CommandLine& line) {
  Question question;
  TRY(question.plan, read_plan(line));
  TRY_DO(check_size(question.plan));
  constexpr double kLossMost = 1e6;
  constexpr std::int64_t kRoundsMost = 1'000'000;
  const auto loss = parse_number(line.value("loss").value_or("0.8"));
  if (!loss || !(*loss >= 0 && *loss <= kLossMost))
    return fail("--loss {}: expected a number from 0 to {}", *line.value("loss"), kLossMost);
  const auto rounds = parse_integer(line.value("rounds").value_or("40"));
  if (!rounds || *rounds < 2 || *rounds > kRoundsMost)
    return fail("--rounds {}: expected a whole number from 2 to {}", *line.value("rounds"),
                kRoundsMost);
  question.loss = *loss;
  question.rounds = static_cast<std::uint64_t>(*rounds);
  return question;
}

// The keys of the file, those of the command line and those of a try, the later over the earlier.
CommandLine line_of(const CommandLine& line, const sim::FleetPlan& plan, const GridPoint& more) {
  CommandLine own = line;
  own.keys.assign(plan.settings.begin(), plan.settings.end());
  own.keys.insert(own.keys.end(), line.keys.begin(), line.keys.end());
  own.keys.insert(own.keys.end(), more.begin(), more.end());
  return own;
}

// What a try runs with.
Result<std::pair<sim::RehearsalOptions, sim::TrainerFactory>> prepare(const CommandLine& line,
                                                                      const Question& question,
                                                                      const GridPoint& more) {
  const CommandLine own = line_of(line, question.plan, more);
  SetupHints hints{.nodes = question.plan.machines(), .defaults = kStandIn};
  TRY(Setup setup, read_setup(own, hints));
  sim::RehearsalOptions options{.plan = question.plan,
                                .rounds = question.rounds,
                                .loss = question.loss,
                                .machine_s = line.has("only") ? kAlone_s : kOfMany_s};
  const auto steps = setup.options.base.local_steps.fixed;
  CommandLine shorter = own;
  if (steps && static_cast<std::int64_t>(*steps) > kStandInSteps) {
    options.steps_each = static_cast<double>(*steps) / static_cast<double>(kStandInSteps);
    shorter.keys.emplace_back("optim.local-steps", fmt::format("{}", kStandInSteps));
  }
  TRY(setup, make_setup(shorter, hints));
  options.world = setup.options;
  options.world.base.goal = {};
  sim::TrainerFactory trainers = setup.trainers(setup.options.seed);
  const bool is_double = setup.config.learner.model.precision == models::Precision::f64;
  options.number_bytes = is_double ? sizeof(double) : sizeof(float);
  return std::pair(std::move(options), std::move(trainers));
}

// The settings that may suit links: how often and in which form vectors are sent, whether machines
// compute meanwhile, and to whom. The likely ones first.
std::vector<Try> tries_of(const CommandLine& line, const Question& question) {
  std::vector<Try> tries{{.settings = {}}};
  if (line.has("only")) return tries;
  const GridKey steps{"optim.local-steps", {"100", "10", "1"}};
  const GridKey short_codec{"exchange.codec", {"i4"}};
  const sim::FleetPlan& plan = question.plan;
  const bool has_sites = plan.regions.size() > 1 && plan.machines() > plan.regions.size();
  const GridKey sites{"topology.sequence", {has_sites ? "clusters:10" : "base:2"}};
  const std::vector<std::vector<GridKey>> grids = {{short_codec, steps},
                                                   {{"optim.algorithm", {"ed"}},
                                                    {"exchange.parts", {"4"}},
                                                    {"exchange.overlap", {"true"}},
                                                    short_codec,
                                                    steps},
                                                   {short_codec, sites, steps},
                                                   {{"exchange.codec", {"native"}}, steps}};
  for (const std::vector<GridKey>& grid : grids)
    for (GridPoint& point : points_of(grid)) tries.push_back({.settings = std::move(point)});
  return tries;
}

// Takes up tries in their order, on all cores, for as long as the search may last.
Result<void> play(const CommandLine& line, const Question& question, std::vector<Try>& tries) {
  const auto started = steady_clock::now();
  std::mutex mutex;
  std::size_t next = 0;
  Result<void> verdict;
  ProgressLine progress;
  const auto take = [&]() -> std::optional<std::size_t> {
    const std::lock_guard lock(mutex);
    const bool is_over = next > 0 && steady_clock::now() - started > kSearchTime;
    if (next == tries.size() || is_over || !verdict) return std::nullopt;
    progress.tell([&] { return fmt::format("{} of {} settings", next, tries.size()); });
    return next++;
  };
  const auto work = [&] {
    while (const auto index = take()) {
      auto prepared = prepare(line, question, tries[*index].settings);
      if (!prepared && *index > 0) continue;  // it does not go together with what the user says
      if (!prepared) {
        const std::lock_guard lock(mutex);
        verdict = tl::unexpected(prepared.error());
        return;
      }
      tries[*index].found = sim::rehearse(prepared->first, prepared->second);
    }
  };
  std::vector<std::jthread> others;
  for (unsigned k = 1; k < useful_threads(count_cores().usable); ++k) others.emplace_back(work);
  work();
  others.clear();
  return verdict;
}

// The soonest at the loss; of those within a tenth of its time the one that sends least. Null: none
// has come to it.
const Try* choice(const std::vector<Try>& tries) {
  const Try* soonest = nullptr;
  for (const Try& one : tries)
    if (one.found && one.found->loss_s &&
        (!soonest || *one.found->loss_s < *soonest->found->loss_s))
      soonest = &one;
  const Try* chosen = soonest;
  for (const Try& one : tries)
    if (soonest && one.found && one.found->loss_s &&
        *one.found->loss_s <= 1.1 * *soonest->found->loss_s &&
        one.found->bytes_a_day < chosen->found->bytes_a_day)
      chosen = &one;
  return chosen;
}

std::string words_of(const Try& one) {
  return one.settings.empty() ? "as the file says" : point_name(one.settings);
}

std::string text_of(const Question& question, const std::vector<Try>& tries) {
  const sim::FleetPlan& plan = question.plan;
  std::string text =
      fmt::format("{} machines in {} region{}, a model of {}, {} a step\n\n", plan.machines(),
                  plan.regions.size(), plan.regions.size() == 1 ? "" : "s",
                  human_bytes(plan.model_bytes), human_duration(plan.step_s));
  Table table({"settings", ">computing", "?>dead", ">first round", ">round", ">sent a day, each",
               fmt::format(">stand-in at {} after", question.loss)});
  for (const Try& one : tries) {
    if (!one.found) continue;
    const sim::Rehearsal& found = *one.found;
    table.add({words_of(one), human_fraction(found.goodput),
               found.deaths > 0 ? human_fraction(found.away) : "-", human_duration(found.start_s),
               human_duration(found.round_s), human_bytes(found.bytes_a_day),
               found.loss_s ? human_duration(*found.loss_s)
                            : fmt::format("- (at {} in {} rounds)", human_number(found.last_loss),
                                          found.rounds)});
  }
  text += table.text();
  const auto played =
      std::ranges::count_if(tries, [](const Try& one) { return one.found.has_value(); });
  if (static_cast<std::size_t>(played) < tries.size())
    text += fmt::format("\n{} of {} settings: others do not go with yours, or took too long.\n",
                        played, tries.size());
  const double haste = tries.front().found->haste;
  if (haste > 1.5)
    text += fmt::format(
        "\nTime passed {} times as fast, so that what the protocol takes for itself weighs "
        "more{}.\n",
        human_number(haste), tries.size() > 1 ? "; --only is more exact" : "");
  if (plan.published) text += fmt::format("\nPublished: {}\n", human_fraction(*plan.published));
  if (const Try* chosen = choice(tries); chosen && tries.size() > 1)
    text += fmt::format("\nSoonest, and of those the thriftiest: {}\n", words_of(*chosen));
  return text;
}

Json to_json(const Try& one) {
  Json settings = Json::object();
  for (const auto& [key, value] : one.settings) settings[key] = value;
  const sim::Rehearsal& found = *one.found;
  Json object = {{"settings", std::move(settings)},
                 {"goodput", found.goodput},
                 {"away", found.away},
                 {"start_s", found.start_s},
                 {"round_s", found.round_s},
                 {"rounds", found.rounds},
                 {"deaths", found.deaths},
                 {"bytes_a_day", found.bytes_a_day},
                 {"last_loss", found.last_loss},
                 {"haste", found.haste}};
  if (found.loss_s) object["loss_s"] = *found.loss_s;
  return object;
}

Json to_json(const Question& question, const std::vector<Try>& tries) {
  Json all = Json::array();
  for (const Try& one : tries)
    if (one.found) all.push_back(to_json(one));
  Json object = {{"machines", question.plan.machines()},
                 {"model_bytes", question.plan.model_bytes},
                 {"step_s", question.plan.step_s},
                 {"loss", question.loss},
                 {"tries", std::move(all)}};
  if (question.plan.published) object["published"] = *question.plan.published;
  if (const Try* chosen = choice(tries)) object["chosen"] = to_json(*chosen)["settings"];
  return object;
}

}  // namespace

Outcome<int> rehearse(const CommandLine& line) {
  TRY(const Question question, read_question(line));
  std::vector<Try> tries = tries_of(line, question);
  TRY_DO(play(line, question, tries));
  if (line.has("json"))
    fmt::print("{}\n", to_json(question, tries).dump(2));
  else
    fmt::print("{}", text_of(question, tries));
  return kExitDone;
}

}  // namespace starling::daemon
