#include "daemon/cli/up/command_up.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/display.h"
#include "daemon/cli/terminal/fleet_view.h"
#include "daemon/cli/terminal/frame.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/terminal/quality.h"
#include "daemon/cli/terminal/screen.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/cli/up/fleet.h"
#include "daemon/cli/up/fleet_folder.h"
#include "daemon/cli/up/fleet_notices.h"
#include "daemon/cli/up/guests.h"
#include "daemon/cli/up/kept_models.h"
#include "daemon/cli/up/next_commands.h"
#include "daemon/cli/up/node_warnings.h"
#include "daemon/cli/up/verdict.h"
#include "daemon/process/cores.h"
#include "daemon/process/log.h"
#include "daemon/process/model_file.h"
#include "daemon/process/notices.h"
#include "daemon/process/stop_signals.h"
#include "daemon/rest/document.h"
#include "daemon/rest/run_reading.h"
#include "daemon/rest/summary_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/goal_words.h"
#include "daemon/setup/key_options.h"
#include "daemon/setup/local_run.h"
#include "daemon/setup/sites.h"
#include "daemon/setup/table_recipe.h"
#include "topology/build.h"

namespace starling::daemon {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{200};
// For the nodes to end with one model after Ctrl-C: as long as they wait for one that is silent,
// and to hand the model on. Shorter: over a dead node each ends with its own.
constexpr std::chrono::seconds kEndPatience{10};

constexpr std::size_t kTrainersTold = 8;  // lines at the end

constexpr char kModelPath[] = "starling-model.safetensors";

// All are to end at once.
std::atomic<bool> interrupted = false;
// Before, there is nothing to bring to an end.
std::atomic<bool> is_started = false;
// The nodes can end with one model, and the user wants that.
std::atomic<bool> is_watched = false, is_end_wanted = false;

void on_stop(int number) {
  if (!is_started) ::_exit(kExitDone);
  if (number == SIGINT && is_watched && !is_end_wanted.exchange(true)) return;
  interrupted = true;
}

struct Plan {
  Config config;
  FleetOptions fleet;
  Sites sites;
  std::string recipe;  // in place of missing settings of the user; empty: none
};

// What the nodes learn from, and that they can.
Result<Sites> check_learning(const Config& config, std::size_t nodes) {
  if (config.learner.model.kind == models::ModelKind::external)
    return Sites{.description = "what a trainer beside each trains", .notes = {}, .first = nullptr};
  TRY(Sites sites, look_at_sites(config.learner.data, nodes));
  TRY_DO(validate_goal(config, *sites.first));
  TRY_DO(models::make_trainer(config.learner, sites.first, "node-0", [] { return Time{}; }));
  if (std::string kind = models::explain_kind(config.learner, sites.first->train); !kind.empty())
    sites.notes.push_back(std::move(kind));
  return sites;
}

// Each node's own files, where they are numbered.
void name_sites(const models::DataOptions& data, const Settings& settings, FleetOptions& fleet) {
  for (std::size_t index = 0; has_sites(data) && index < fleet.nodes; ++index) {
    const models::DataOptions own = site_options(data, index);
    fleet.site_arguments.push_back({"--data.path=" + own.path, "--data.test-path=" + own.test_path,
                                    "--data.dictionary=" + own.dictionary_path,
                                    "--data.shard=" + settings.text("data.shard")});
  }
}

// On loopback, by the address of it that listen.control names.
void place(const Settings& settings, const Config& config, FleetOptions& fleet) {
  fleet.first_http = config.listen_http;
  if (!is_loopback(config.listen_control)) return;
  fleet.host = config.listen_control.host;
  if (settings.is_default("listen.http")) fleet.first_http.host = fleet.host;
}

// What the user and the recipe set, but for what each node has of its own, and `own` over it.
std::vector<std::string> shared_arguments(
    const CommandLine& line, std::span<const std::pair<std::string, std::string>> recipe,
    const std::vector<std::string>& own) {
  std::vector<std::string> arguments;
  if (const auto file = line.value("config")) arguments = {"-c", *file};
  for (const auto& [key, value] : line.keys)
    if (!key.starts_with("node.") && !key.starts_with("listen.") &&
        value.find("{i}") == std::string::npos)
      arguments.push_back(fmt::format("--{}={}", key, value));
  for (const auto& [key, value] : recipe) arguments.push_back(fmt::format("--{}={}", key, value));
  arguments.insert(arguments.end(), own.begin(), own.end());
  return arguments;
}

// Everything that can be wrong is found here, before anything is started.
Result<Plan> make_plan(const CommandLine& line) {
  Plan plan;
  TRY(LocalRun run, read_local_run(line));
  const Settings& settings = run.settings;
  const Recipe& recipe = run.recipe;
  const bool is_near = run.is_near;
  plan.config = std::move(run.config);
  plan.fleet.nodes = run.nodes;
  TRY(plan.sites, check_learning(plan.config, plan.fleet.nodes));
  plan.fleet.program = std::filesystem::read_symlink("/proc/self/exe").string();
  if (const auto file = line.value("config")) plan.fleet.arguments = {"-c", *file};
  for (const auto& [key, value] : line.keys)
    plan.fleet.arguments.push_back(fmt::format("--{}={}", key, value));
  for (const auto& [key, value] : recipe)
    plan.fleet.arguments.push_back(fmt::format("--{}={}", key, value));
  plan.recipe = recipe_text(recipe);
  OneMore more = one_more(plan.config, plan.fleet.nodes);
  plan.fleet.more_data = std::move(more.words);
  if (is_near) {
    plan.fleet.arguments.push_back("--cluster.preset=local");
    more.arguments.push_back("--cluster.preset=local");
  }
  plan.fleet.shared = shared_arguments(line, recipe, more.arguments);
  if (settings.is_default("node.log")) plan.fleet.arguments.push_back("--node.log=warning");
  name_sites(plan.config.learner.data, settings, plan.fleet);
  place(settings, plan.config, plan.fleet);
  plan.fleet.is_interrupted = [] { return interrupted.load(); };
  plan.fleet.data_dir = plan.config.data_dir;
  plan.fleet.has_keys = !plan.config.is_insecure;
  plan.fleet.has_trainers = plan.config.learner.model.kind == models::ModelKind::external;
  plan.fleet.ends_apart = plan.config.learner.data.split == models::Split::columns;
  plan.fleet.parts = deals_fixed_parts(plan.config);
  for (const std::string& doubt : doubts(plan.config, schema())) log::warning("{}", doubt);
  if (plan.fleet.data_dir.empty()) return plan;
  TRY_DO(keep_fleet(plan.fleet.data_dir, plan.fleet.nodes, settings));
  return plan;
}

// A line; on a terminal in several where it does not fit.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = fmt::format(format, std::forward<Values>(values)...);
  const bool is_read = ::isatty(STDOUT_FILENO) == 1;
  for (const std::string& line : split(text, '\n'))
    for (const std::string& part :
         is_read ? wrap_words(line, display_width()) : std::vector<std::string>{line})
      fmt::print("{}\n", part);
}

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::uint64_t least_round(std::span<const gossip::NodeSummary> nodes) {
  std::uint64_t round = UINT64_MAX;
  for (const gossip::NodeSummary& node : nodes) round = std::min(round, node.round);
  return round;
}

// Values without a measurement are left out.
std::string progress_line(Fleet& fleet, double time_s) {
  const std::vector<gossip::NodeSummary> nodes = fleet.present_summaries();
  std::string line = fmt::format("{:5.1f} s  round {:>5}", time_s, least_round(nodes));
  if (const auto loss = gossip::mean(nodes, &gossip::NodeSummary::loss))
    line += fmt::format("  loss {:.4f}", *loss);
  if (const auto accuracy = gossip::mean(nodes, &gossip::NodeSummary::accuracy))
    line += fmt::format("  accuracy {}", human_fraction(*accuracy));
  if (const auto rmse = gossip::mean(nodes, &gossip::NodeSummary::rmse))
    line += fmt::format("  rmse {:.4g}", *rmse);
  const std::size_t running = fleet.running(), all = fleet.nodes().size();
  return running < all ? line + fmt::format("  {}/{} run", running, all) : line;
}

void print_notices(const std::vector<std::string>& texts, Screen& screen, bool quiet) {
  if (!quiet && !texts.empty()) screen.clear();
  for (const std::string& text : texts)
    for (const std::string& line : split(text, '\n'))
      fmt::print(quiet ? stderr : stdout, "{}{}\n", line.starts_with("| ") ? "  " : "",
                 printable(line));
  std::fflush(stdout);
}

// Where none runs, Fleet::stop() tells which have failed.
void hear_nodes(Fleet& fleet, FleetNotices& notices, double time_s) {
  const bool is_over = fleet.running() == 0;
  for (Fleet::Node& node : fleet.nodes())
    if (!is_over || node.process.exit_code() == 0)
      notices.hear(Time(steady_clock::now().time_since_epoch()), node.name,
                   warnings_of(node, time_s));
}

// What is seen of a fleet on a terminal: a frame over the one before. Elsewhere: a line now and
// then, and the sentence of the fleet when it says something else than before.
class Progress {
 public:
  Screen& screen() { return screen_; }

  void show(Fleet& fleet, double time_s) {
    if (screen_.is_live())
      screen_.draw(draw(view(fleet, time_s), screen_.size(), screen_.style()));
    else if (time_s - last_line_s_ >= kLineEvery_s || sees_first_loss(fleet))
      print(fleet, time_s);
  }

 private:
  static constexpr double kLineEvery_s = 2;  // shorter: more to read in a log

  bool sees_first_loss(Fleet& fleet) {
    if (has_loss_) return false;
    has_loss_ = gossip::mean(fleet.present_summaries(), &gossip::NodeSummary::loss).has_value();
    return has_loss_;
  }

  FleetView view(Fleet& fleet, double time_s) {
    const Fleet::Sentence sentence = fleet.sentence();
    FleetView view{.summary = sentence.text, .has_reasons = sentence.has_reasons};
    view.nodes = fleet.node_views();
    rates_.add(time_s, view.nodes, fleet.samples());
    view.rounds_per_s = rates_.rounds_per_s();
    view.samples_per_s = rates_.samples_per_s();
    read_progress(part(fleet.first_status(), "run"), view);
    return view;
  }

  void print(Fleet& fleet, double time_s) {
    last_line_s_ = time_s;
    fmt::print("{}\n", progress_line(fleet, time_s));
    const Fleet::Sentence sentence = fleet.sentence();
    // The lines show the loss and the text after it. Without a loss no node trains yet.
    const std::size_t loss = sentence.text.find(", loss ");
    const std::vector<std::string> told{sentence.text.substr(0, loss)};
    const Time now(steady_clock::now().time_since_epoch());
    if (loss != std::string::npos && !told_.take_new(now, told).empty())
      fmt::print("{}\n", printable(sentence.text));
    std::fflush(stdout);
  }

  Screen screen_{STDOUT_FILENO};
  FleetRates rates_;
  Notices told_;
  double last_line_s_ = -1e9;
  bool has_loss_ = false;  // the first line with a loss is shown at once
};

// Once the user wants the run to end: its nodes end it. Where they cannot, or take longer than
// `until`, all end at once.
void look_for_end(Fleet& fleet, std::optional<steady_clock::time_point>& until, Screen& screen,
                  bool quiet) {
  if (!is_end_wanted || interrupted) return;
  if (!until && fleet.end_run()) {
    until = steady_clock::now() + kEndPatience;
    print_notices({"The run ends with one model; Ctrl-C again stops at once."}, screen, quiet);
  } else if (!until || steady_clock::now() >= *until) {
    interrupted = true;
  }
}

// Watches until the goal is reached, or nothing is left to wait for. What was drawn last stays.
Verdict watch(Fleet& fleet, const Config& config, bool quiet) {
  const gossip::Goal& goal = config.node.goal;
  Progress progress;
  FleetNotices notices;
  const auto started = steady_clock::now();
  // Said before the nodes were started.
  for (const Fleet::Node& node : fleet.nodes())
    notices.hear(Time(started.time_since_epoch()), node.name, doubts(config, schema()));
  notices.take_all();
  std::optional<steady_clock::time_point> end_until;
  std::string l2;
  is_watched = true;
  while (true) {
    const bool is_over = fleet.running() == 0;  // refresh() reads what the last one wrote
    fleet.refresh();
    look_for_end(fleet, end_until, progress.screen(), quiet);
    hear_nodes(fleet, notices, seconds_since(started));
    print_notices(notices.take_due(Time(steady_clock::now().time_since_epoch())), progress.screen(),
                  quiet);
    if (!quiet && l2.empty()) {
      l2 = l2_line(part(fleet.first_status(), "run"));
      if (!l2.empty()) print_notices({l2}, progress.screen(), quiet);
    }
    if (!quiet) progress.show(fleet, seconds_since(started));
    Verdict verdict = judge(fleet, goal);
    if (interrupted) verdict.text = "interrupted before the nodes had one model";
    if (is_over) verdict.text = why_none_runs(fleet);
    if (!verdict.text.empty()) {
      is_watched = false;
      print_notices(notices.take_all(), progress.screen(), quiet);
      return verdict;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

void keep_until_interrupted(Fleet& fleet) {
  fmt::print("Still running; Ctrl-C stops. Ask a node: {}\n", how_to_ask(fleet));
  std::fflush(stdout);
  while (!interrupted) std::this_thread::sleep_for(kLookEvery);
}

std::string kind_of(const Config& config, std::size_t nodes) {
  const topology::Options& options = config.node.topology;
  return topology::graph_name(options, nodes) +
         (options.kind == topology::Kind::automatic ? ", auto" : "");
}

// The curves are means over the nodes that gave theirs.
void tell_missing_curves(Fleet& fleet) {
  for (Fleet::Node& node : fleet.nodes())
    if (node.is_silent && node.process.running())
      log::warning("{} does not answer: the curves at the end are without it", node.name);
}

int report(Fleet& fleet, const gossip::Goal& goal, const Verdict& verdict, double wall_s,
           bool as_json) {
  gossip::Summary summary;
  summary.nodes = fleet.node_summaries();
  if (!interrupted) std::ranges::move(guests(fleet), std::back_inserter(summary.nodes));
  summary.series = fleet.series();
  if (!interrupted) tell_missing_curves(fleet);
  summary.goal = {.reached = verdict.reached,
                  .reason = verdict.text,
                  .round = least_round(fleet.present_summaries()),
                  .model = verdict.model,
                  .wanted = goal};
  summary.members = fleet.members();
  summary.wall_s = wall_s;
  if (as_json)
    fmt::print("{}\n", summary_json(summary).dump(2));
  else
    fmt::print("\n{}", summary_text(summary));
  const std::string sentence = as_json ? "" : fleet.sentence().text;
  if (!sentence.empty()) say("The fleet at the end: {}.", printable(sentence));
  if (verdict.is_refused) return kExitWrongUsage;
  if (fleet.running() == 0 && fleet.failed() > 0) return kExitFailed;
  return verdict.has_goal && !verdict.reached ? kExitGoalNotReached : kExitDone;
}

// What each printed at its end too.
void tell_trainers(const Fleet& fleet) {
  const std::vector<std::string>& last = fleet.trainers_last();
  for (std::size_t k = 0; k < std::min(last.size(), kTrainersTold); ++k) say("{}", last[k]);
  if (last.size() > kTrainersTold)
    say("The trainers of {} nodes more wrote other lines.", last.size() - kTrainersTold);
}

// What is about to be trained, and how.
void introduce(const Plan& plan) {
  const std::size_t n = plan.fleet.nodes;
  say("{} node{} ({}) learn{} {}", n, n == 1 ? "" : "s", kind_of(plan.config, n), n == 1 ? "s" : "",
      plan.sites.description);
  for (const std::string& note : plan.sites.notes) say("- {}", printable(note));
  if (const std::string& reason = plan.config.algorithm_reason; !reason.empty())
    say("Algorithm {}: {}", plan.config.node.algorithm, reason);
  if (!plan.config.node.goal.is_set()) say("- {}", words_without_goal("they train"));
  if (!plan.recipe.empty()) say("Not set, and chosen for a table: {}", plan.recipe);
  std::fflush(stdout);
}

void share_cores_of_trainers(std::size_t trainers, bool quiet) {
  const auto threads = share_cores(trainers);
  if (!threads || quiet) return;
  say("Each trainer computes with {} thread{} (OMP_NUM_THREADS)", *threads,
      *threads == 1 ? "" : "s");
  std::fflush(stdout);
}

// What can be done with the nodes that run.
void introduce(Fleet& fleet, const FleetOptions& options) {
  say("Watch any of them: {}", how_to_ask(fleet));
  // Copied as it stands, so it is never wrapped.
  fmt::print("One node more{}{}: {}\n", options.more_data.empty() ? "" : " ", options.more_data,
             how_to_join(fleet, options));
  if (options.has_trainers && !fleet.log_folder().empty())
    say("What the trainers print is in {}/node-*.log until the end.", fleet.log_folder());
  fmt::print("Ctrl-C stops.\n\n");
}

// Starts the nodes, watches them and ends them. Gives the exit code.
Outcome<int> run_fleet(const CommandLine& line, const Plan& plan) {
  const bool as_json = line.has("json");
  const auto started = steady_clock::now();
  auto fleet = Fleet::start(plan.fleet);
  if (!fleet) return complaint(kExitFailed, "{}", fleet.error().text);
  if (!as_json && !interrupted) introduce(*fleet, plan.fleet);
  std::fflush(stdout);
  const Verdict verdict = watch(*fleet, plan.config, as_json);
  const int code = report(*fleet, plan.config.node.goal, verdict, seconds_since(started), as_json);
  if (line.has("keep") && !interrupted && !is_end_wanted)
    keep_until_interrupted(*fleet);
  else if (!as_json && !interrupted && fleet->running() > 0 && ::isatty(STDOUT_FILENO) == 1)
    say("The nodes end; with --keep they stay for a look from a second terminal.");
  fmt::print(stderr, "{}", fleet->stop());
  if (!as_json) tell_trainers(*fleet);
  TRY(const KeptModels kept,
      keep_models(*fleet, line.value("output").value_or(kModelPath), plan.config.learner.data));
  if (!as_json && !kept.sentence.empty()) say("{}", kept.sentence);
  if (!as_json) fmt::print("{}", kept.commands);
  return code;
}

Outcome<int> run_up(const CommandLine& given) {
  handle_stop_signals(on_stop);
  CommandLine line = given;
  name_keys(line);
  if (const auto folder = line.value("resume")) {
    TRY_DO(recall_fleet(*folder, line));
  }
  TRY(const Plan plan, make_plan(line));
  if (!line.has("json")) introduce(plan);
  if (plan.fleet.has_trainers) share_cores_of_trainers(plan.fleet.nodes, line.has("json"));
  is_started = true;
  std::signal(SIGPIPE, [](int) { interrupted = true; });
  return run_fleet(line, plan);
}

constexpr auto kUpOptions = join(
    {{"nodes,n", "N", "nodes"}}, kConfiguring,
    {{"output", "FILE", "the file that gets the model (starling-model.safetensors)"},
     {"from", "MODEL", "start from the file of a model"},
     {"resume", "DIR",
      "go on from the checkpoints and with the settings of an earlier starling up with "
      "--node.data-dir=DIR; keys given here count instead"},
     {"trainer", "COMMAND", "what trains a model of your own, which is started beside each node"},
     {"keep", "", "let the nodes run on after the goal"},
     {"json", "", "print the summary as one JSON document, and nothing else"}});

}  // namespace

constinit const ProgramCommand kUp = {
    .name = "up",
    .summary = "a cluster on this machine, with live progress",
    .usage = "starling up [-n N] [-c FILE] [--SECTION.KEY=VALUE ...] [--keep] [--json]",
    .description = R"(Starts N nodes on this machine as processes of their own, shows round, loss,
accuracy, consensus distance and members while they train, stops at the goal and prints a summary. A
table is trained with settings that suit tables, without a goal for 2,000 rounds, and a line says
which. The nodes have keys of their own, and a line says how one node more joins them;
--security.insecure=true leaves keys away.)",
    .options = kUpOptions,
    .notes = R"(Example: sixteen nodes on a torus, each with few of the ten classes

  starling up -n 16 --topology.kind=torus --data.partition=dirichlet:0.3 --stop.rounds=300)",
    .exits = "0 done, 1 failed while running, 2 wrong usage or configuration, 3 goal not reached.",
    .settings = "*",
    .run = run_up};

}  // namespace starling::daemon
