#include "daemon/cli/sweep/command_sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/help/seed_range.h"
#include "daemon/cli/sweep/sweep_page.h"
#include "daemon/cli/sweep/sweep_runs.h"
#include "daemon/cli/sweep/sweep_table.h"
#include "daemon/cli/terminal/progress_line.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/cores.h"
#include "daemon/process/stop_signals.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/document.h"
#include "daemon/setup/config.h"
#include "daemon/setup/key_options.h"
#include "daemon/setup/local_run.h"
#include "daemon/setup/setting_sources.h"

namespace starling::daemon {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

constexpr std::size_t kRunsLimit = 10'000;
constexpr std::size_t kConfigLimit = 16 << 20;

std::atomic<bool> is_interrupted = false;

struct LeftOut {
  GridPoint point;
  std::string why;
};

struct Sweep {
  SweepFolder folder;
  std::vector<GridPoint> points = {};  // those that can run
  std::vector<LeftOut> left_out = {};
  std::vector<SweepRun> runs = {};
  std::size_t at_once = 1;
};

// The command line of the run at that point.
CommandLine line_of(const CommandLine& line, const GridPoint& point) {
  CommandLine own = line;
  own.keys.insert(own.keys.end(), point.begin(), point.end());
  return own;
}

std::vector<std::string> arguments_of(const CommandLine& line, std::uint64_t seed) {
  const bool is_simulated = line.has("simulate");
  std::vector<std::string> words{is_simulated ? "simulate" : "up", "--json"};
  for (const char* option : {"nodes", "config"})
    if (const auto value = line.value(option))
      words.insert(words.end(), {fmt::format("--{}", option), *value});
  const auto set = [&](std::string_view key, std::string_view value) {
    words.push_back(fmt::format("--{}={}", key, value));
  };
  const auto names = [&](std::string_view key) {
    return std::ranges::find(line.keys, key, &SettingSources::Pair::first) != line.keys.end();
  };
  if (is_simulated) {
    set("seed", fmt::format("{}", seed));
  } else {
    set("output", "/dev/null");
    if (!names("node.seed")) set("node.seed", fmt::format("{}", seed));
    if (!names("listen.http")) set("listen.http", "127.0.0.1:0");
  }
  for (const auto& [key, value] : line.keys) set(key, value);
  return words;
}

// A value that no combination can have is a mistake; of other combinations that cannot run each is
// left out.
Result<void> find_points(const CommandLine& line, const RunCheck& check, Sweep& sweep) {
  TRY(const std::vector<GridKey> keys, parse_grid(line.positional));
  std::size_t count = 1;
  for (const GridKey& key : keys)
    if ((count *= key.values.size()) > kRunsLimit)
      return fail("expected at most {} combinations", kRunsLimit);
  for (GridPoint& point : points_of(keys)) {
    if (const auto checked = check(line_of(line, point)); !checked)
      sweep.left_out.push_back({std::move(point), checked.error().text});
    else
      sweep.points.push_back(std::move(point));
  }
  if (sweep.points.empty()) return fail("{}", sweep.left_out.front().why);
  for (const LeftOut& left : sweep.left_out)
    for (const SettingSources::Pair& pair : left.point)
      if (std::ranges::none_of(sweep.points, [&](const GridPoint& point) {
            return std::ranges::find(point, pair) != point.end();
          }))
        return fail("{}={} is in no run: {}", pair.first, pair.second, left.why);
  return {};
}

Result<std::size_t> runs_at_once(const CommandLine& line, std::size_t nodes) {
  constexpr std::int64_t kMost = 1024;
  const std::size_t cores = useful_threads(count_cores().usable);
  if (!line.has("jobs"))
    return line.has("simulate") ? cores : std::max<std::size_t>(1, cores / nodes);
  const auto jobs = parse_integer(*line.value("jobs"));
  if (!jobs || *jobs < 1 || *jobs > kMost)
    return fail("--jobs {}: expected a whole number from 1 to {}", *line.value("jobs"), kMost);
  return static_cast<std::size_t>(*jobs);
}

Result<Sweep> make_sweep(const CommandLine& line, const RunCheck& check) {
  if (line.has("simulate") && line.has("trainer"))
    return fail("--simulate has no trainers: leave out one of both");
  Sweep sweep{.folder = {line.value("output").value_or("starling-sweep"), {}}};
  TRY_DO(find_points(line, check, sweep));
  TRY(const SeedRange seeds, read_seeds(line, 1));
  const auto nodes = parse_integer(line.value("nodes").value_or("8")).value_or(1);
  TRY(sweep.at_once,
      runs_at_once(line, static_cast<std::size_t>(std::max<std::int64_t>(nodes, 1))));
  if (const auto path = line.value("config")) {
    TRY(const auto bytes, read_file(*path, kConfigLimit));
    if (bytes) sweep.folder.inputs = as_text(*bytes);
  }
  for (const auto& [name, value] : environment_variables())
    if (name.starts_with("STARLING_") && !name.starts_with("STARLING_LISTEN_"))
      sweep.folder.inputs += fmt::format("\n{}={}", name, value);
  for (std::size_t k = 0; k < sweep.points.size(); ++k)
    for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed)
      sweep.runs.push_back(
          {.point = k, .arguments = arguments_of(line_of(line, sweep.points[k]), seed)});
  std::error_code error;
  std::filesystem::create_directories(sweep.folder.path, error);
  if (error)
    return fail("--output {}: cannot be made: {}; expected a folder to write to", sweep.folder.path,
                error.message());
  return sweep;
}

std::size_t done(const Sweep& sweep) {
  return static_cast<std::size_t>(std::ranges::count_if(
      sweep.runs, [](const SweepRun& run) { return !run.document.is_null(); }));
}

std::size_t failed(const Sweep& sweep) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sweep.runs, [](const SweepRun& run) { return !run.problem.empty(); }));
}

void introduce(const Sweep& sweep) {
  for (const LeftOut& left : sweep.left_out)
    fmt::print("Left out: {}: {}\n", point_name(left.point), left.why);
  const std::size_t before = done(sweep);
  fmt::print("{} run{}{}, {} at a time; results in {}\n", sweep.runs.size(),
             sweep.runs.size() == 1 ? "" : "s",
             before > 0 ? fmt::format(", {} of them done before", before) : "", sweep.at_once,
             sweep.folder.path);
  std::fflush(stdout);
}

// Returns whether all have ended.
bool run(Sweep& sweep) {
  const std::size_t before = done(sweep);
  const auto started = steady_clock::now();
  ProgressLine progress;
  const auto tell = [&] {
    const std::size_t now = done(sweep), ended = now - before;
    std::string text = fmt::format("{} of {} runs are done", now, sweep.runs.size());
    const std::chrono::duration<double> passed = steady_clock::now() - started;
    const auto left = static_cast<double>(sweep.runs.size() - now - failed(sweep));
    if (ended > 0)
      text += fmt::format(", about {} to go",
                          human_duration(passed.count() * left / static_cast<double>(ended)));
    return text;
  };
  return run_all(sweep.folder,
                 {.at_once = sweep.at_once,
                  .is_interrupted = [] { return is_interrupted.load(); },
                  .told = [&] { progress.tell(tell); }},
                 sweep.runs);
}

// The settings of the best run as a configuration: those that are not the default. Keys of the
// simulator are left out, for no node takes them.
std::string best_ini(const CommandLine& line, const GridPoint& best) {
  std::vector<std::string> mistakes;
  std::vector<SettingSources::Pair> keys = line_of(line, best).keys;
  std::erase_if(keys, [](const auto& key) { return key.first.starts_with("sim."); });
  const Settings settings = gather_settings(schema(), line.value("config"), keys, mistakes);
  std::string text = fmt::format("# The best of a sweep: {}\n", point_name(best)), section;
  for (const Key& key : settings.schema().keys()) {
    if (settings.is_default(key.name)) continue;
    const std::string own = key.name.substr(0, key.name.find('.'));
    if (own != section) text += fmt::format("\n[{}]\n", own);
    section = own;
    text += fmt::format("{} = {}\n", key.name.substr(own.size() + 1), settings.text(key.name));
  }
  return text;
}

Result<void> write_results(const CommandLine& line, const Sweep& sweep, const SweepTable& table) {
  TRY_DO(replace_file(sweep.folder.path + "/curves.html", sweep_page(table, sweep.points)));
  if (const SweepRow* best = table.best_by_time()) {
    TRY_DO(
        replace_file(sweep.folder.path + "/best.ini", best_ini(line, sweep.points[best->point])));
  }
  return {};
}

void print(const Sweep& sweep, const SweepTable& table) {
  fmt::print("\n{}\n", text_of(table, sweep.points));
  const SweepRow *by_time = table.best_by_time(), *by_bytes = table.best_by_bytes();
  if (!by_time) return;
  const std::string& folder = sweep.folder.path;
  fmt::print("Best at equal time:  {}   ({}/best.ini)\n", point_name(sweep.points[by_time->point]),
             folder);
  if (by_bytes) fmt::print("Best at equal bytes: {}\n", point_name(sweep.points[by_bytes->point]));
  fmt::print("Curves: {}/curves.html\n", folder);
}

Json document_of(const Sweep& sweep, const SweepTable& table) {
  Json document = json_of(table, sweep.points);
  Json left_out = Json::array();
  for (const LeftOut& left : sweep.left_out)
    left_out.push_back({{"name", point_name(left.point)}, {"why", left.why}});
  document["left_out"] = std::move(left_out);
  document["runs_done"] = done(sweep);
  document["runs"] = sweep.runs.size();
  return document;
}

constexpr auto kSweepOptions = join(
    {{"simulate", "", "runs in virtual time, as starling simulate; else processes, as starling up"},
     {"nodes,n", "N", "nodes of each run"},
     {"seeds", "A..B", "runs of every combination; the table has their mean and deviation"},
     {"jobs", "J",
      "runs at a time (one a core; of processes, as many as the cores have nodes for)"},
     {"trainer", "COMMAND", "what trains a model of your own, beside each node of each run"},
     {"output", "DIR", "the folder of the results (starling-sweep)"}},
    kConfiguring, kPrintingJson);
constexpr std::string_view kSweepArguments[] = {"KEY=VALUE,VALUE..."};

}  // namespace

Result<void> check_local_run(const CommandLine& line) {
  TRY(const LocalRun run, read_local_run(line));
  if (!run.config.node.goal.is_set())
    return fail("a run without a goal does not end; expected one of stop.*, as --stop.rounds=500");
  return {};
}

Outcome<int> sweep(const CommandLine& given, const RunCheck& check) {
  CommandLine line = given;
  name_keys(line);
  TRY(Sweep sweep, make_sweep(line, check));
  handle_stop_signals([](int) { is_interrupted = true; });
  recall_runs(sweep.folder, sweep.runs);
  const bool as_json = line.has("json");
  if (!as_json) introduce(sweep);
  const bool has_ended = run(sweep);
  const SweepTable table = table_of(sweep.runs, sweep.points.size());
  if (const auto written = write_results(line, sweep, table); !written)
    return complaint(kExitFailed, "{}", written.error().text);
  if (as_json)
    fmt::print("{}\n", document_of(sweep, table).dump(2));
  else
    print(sweep, table);
  if (!has_ended)
    fmt::print(stderr, "Interrupted: {} of {} runs are done; the same command goes on.\n",
               done(sweep), sweep.runs.size());
  return has_ended && failed(sweep) == 0 ? kExitDone : kExitFailed;
}

constinit const ProgramCommand kSweep = {
    .name = "sweep",
    .summary = "every combination of some values, compared at equal time and bytes",
    .usage = R"(starling sweep KEY=VALUE,VALUE ... --simulate [-n N] [-c FILE] [--seeds A..B]
                      [--SECTION.KEY=VALUE ...] [--output DIR] [--json]
       starling sweep KEY=VALUE,VALUE ... [-n N] [-c FILE] [--trainer COMMAND] ...)",
    .description =
        R"(Runs every combination of the values, several at a time, and prints a table: the loss at
the time that the shortest run took, at the bytes that the thriftiest sent, and at the end. The loss
is that of held-out samples where there are any, so set eval.every to a few rounds. A combination
that cannot run is said, with the reason, before the first run. Each run is kept in the folder of
the results as soon as it ends: after Ctrl-C the same command goes on with the others. The folder
gets the curves as a page, and the best combination at equal time as a configuration.)",
    .options = kSweepOptions,
    .notes = R"(Example: which step size and which codec?

  starling sweep optim.learning-rate=.01,.03,.1 exchange.codec=auto,i4 --simulate -n 8 \
    --eval.every=10 --stop.rounds=200)",
    .exits = R"(0 done, 1 a run failed or was interrupted, 2 wrong usage or configuration.)",
    .settings = "*",
    .arguments = kSweepArguments,
    .arguments_least = 1};

}  // namespace starling::daemon
