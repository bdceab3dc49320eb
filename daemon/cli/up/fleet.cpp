#include "daemon/cli/up/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/cli/up/fleet_notices.h"
#include "daemon/cli/up/trainer_words.h"
#include "daemon/process/json_text.h"
#include "daemon/rest/document.h"
#include "daemon/rest/http_client.h"
#include "daemon/rest/run_reading.h"
#include "models/data/gz_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double kNotYet = std::numeric_limits<double>::quiet_NaN();  // as a node reports it
constexpr milliseconds kStartPatience{60'000};                        // loading data included
// A node settles its edges for three seconds at most; with a request that is under way, all is over
// after five.
constexpr milliseconds kStopPatience{3'800};
constexpr milliseconds kTrainersPatience{8'000};  // more, for trainers to end by themselves

// What a node writes when it ends.
std::string model_path(const std::string& folder, const std::string& name) {
  return fmt::format("{}/{}.safetensors", folder, name);
}

std::string status_path(const std::string& folder, const std::string& name) {
  return fmt::format("{}/{}.json", folder, name);
}

// The settings that `up` decides for a node, over the user's.
std::vector<std::string> node_arguments(const FleetOptions& options, std::size_t index,
                                        const std::string& seed, const Endpoint& http,
                                        const std::string& folder) {
  const std::string name = fmt::format("node-{}", index);
  std::vector<std::string> arguments{options.program, "run"};
  // A node that ends while it starts must not hold the others up for ever.
  arguments.push_back(
      fmt::format("--cluster.expect-patience={}",
                  std::chrono::duration_cast<std::chrono::seconds>(kStartPatience).count()));
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  if (index < options.site_arguments.size())
    std::ranges::copy(options.site_arguments[index], std::back_inserter(arguments));
  const auto set = [&arguments](std::string_view key, std::string_view value) {
    arguments.push_back(fmt::format("--{}={}", key, value));
  };
  set("node.name", name);
  set("listen.control", to_string(Endpoint{options.host, 0}));
  set("listen.advertise", "");
  set("listen.http", to_string(http));
  set("cluster.expect", std::to_string(options.nodes));
  set("stop.stay", "true");
  if (!options.data_dir.empty()) set("node.data-dir", fmt::format("{}/{}", options.data_dir, name));
  if (options.parts) set("data.shard", fmt::format("{}/{}", index, options.nodes));
  if (!seed.empty()) set("cluster.join", seed);
  if (!folder.empty()) {
    arguments.push_back("--output=" + model_path(folder, name));
    arguments.push_back("--status-file=" + status_path(folder, name));
    // Nodes of another fleet have the same names.
    if (options.has_trainers) set("trainer.socket", fmt::format("{}/{}.sock", folder, name));
  }
  arguments.push_back(fmt::format("--ready-file=/dev/fd/{}", ChildProcess::kReadyDescriptor));
  return arguments;
}

// Null where there is none.
json read_status(const std::string& path) {
  const auto text = models::read_text(path);
  if (!text) return nullptr;
  json status = parse_json(*text);
  return status.is_object() ? status : json(nullptr);
}

// Empty when it cannot be made.
std::string make_log_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "starling-up-XXXXXX").string();
  return ::mkdtemp(pattern.data()) ? pattern : std::string();
}

gossip::Progress read_point(const json& point) {
  gossip::Progress progress;
  progress.round = point.value("round", std::uint64_t{0});
  progress.time_s = point.value("time_s", 0.0);
  progress.loss = number(point, "loss").value_or(kNotYet);
  progress.evaluation_loss = number(point, "held_out_loss");
  progress.accuracy = number(point, "accuracy");
  progress.rmse = number(point, "rmse");
  progress.distance = number(point, "distance");
  progress.distance_to_optimum = number(point, "distance_to_optimum");
  progress.bytes = point.value("bytes", std::uint64_t{0});
  return progress;
}

// How long to wait for the answers to a request that goes to one node after another.
struct Limits {
  milliseconds together;
  milliseconds each;
  milliseconds silent;  // for a node that did not answer the last time
};
// Often, and what one does not answer it answers the next time.
constexpr Limits kStatusLimits{milliseconds(1'000), milliseconds(1'000), milliseconds(100)};
// Once, at the end: without the curve of one node the means are others.
constexpr Limits kCurveLimits{milliseconds(20'000), milliseconds(5'000), milliseconds(1'000)};

// Nodes that are stopped do not hold up those that follow.
class Patience {
 public:
  explicit Patience(const Limits& limits)
      : limits_(limits), until_(steady_clock::now() + limits.together) {}

  milliseconds for_node(const Fleet::Node& node) const {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now());
    return std::max(kLeast, std::min(left, node.is_silent ? limits_.silent : limits_.each));
  }

 private:
  using steady_clock = std::chrono::steady_clock;
  static constexpr milliseconds kLeast{100};
  Limits limits_;
  steady_clock::time_point until_;
};

// Puts a number in the place of the one that follows the last `before`, if there is one.
void replace_number(std::string& text, std::string_view before, const std::string& number) {
  const std::size_t place = text.rfind(before);
  if (place == std::string::npos) return;
  const std::size_t begin = place + before.size();
  const std::size_t end = std::min(text.find_first_not_of("0123456789.e+-", begin), text.size());
  text.replace(begin, end - begin, number);
}

std::string with_means(std::string sentence, std::span<const gossip::NodeSummary> nodes) {
  if (const auto loss = gossip::mean(nodes, &gossip::NodeSummary::loss))
    replace_number(sentence, ", loss ", fmt::format("{:.4g}", *loss));
  if (const auto accuracy = gossip::mean(nodes, &gossip::NodeSummary::accuracy))
    replace_number(sentence, ", accuracy ", fmt::format("{:.1f}", 100 * *accuracy));
  return sentence;
}

// Who does what, as the nodes themselves say it: others learn a moment later that one has finished.
std::string with_all_finished(std::string sentence, std::size_t nodes) {
  std::size_t end = sentence.size();
  for (const char* const next : {", loss ", ", accuracy ", ", models within ", ", done in "})
    end = std::min(end, sentence.find(next));
  return sentence.replace(0, end,
                          nodes == 1 ? std::string("the only node has finished")
                                     : fmt::format("all {} nodes have finished", nodes));
}

std::optional<json> get(Fleet::Node& node, const std::string& target, const Patience& patience) {
  const auto reply = http_request(node.http, "GET", target, "", patience.for_node(node));
  node.is_silent = !reply;
  if (!reply || reply->status != 200) return std::nullopt;
  json document = parse_json(reply->body);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

}  // namespace

// Node 0 first, because the others join through it; then those all at once.
Result<Fleet> Fleet::start(const FleetOptions& options) {
  Fleet fleet(options.is_interrupted);
  fleet.logs_ = make_log_folder();
  fleet.has_trainers_ = options.has_trainers;
  fleet.ends_apart_ = options.ends_apart;
  if (options.has_keys) {
    if (const auto taken = fleet.take_key(options); !taken)
      return fleet.give_up(taken.error().text);
  }
  const Endpoint any{options.host, 0};
  // It takes the address that `starling status` asks by default, unless it is in use.
  TRY_DO(fleet.launch(options, 0, options.first_http));
  if (!fleet.await(0) && !options.is_interrupted()) {
    std::error_code ignored;
    std::filesystem::remove(fleet.nodes_[0].process.log_path(), ignored);
    fleet.nodes_.clear();
    TRY_DO(fleet.launch(options, 0, any));
    if (auto up = fleet.await(0); !up) return fleet.give_up(up.error().text);
  }
  for (std::size_t k = 1; k < options.nodes && !options.is_interrupted(); ++k)
    TRY_DO(fleet.launch(options, k, any));
  for (std::size_t k = 1; k < fleet.nodes_.size(); ++k)
    if (auto up = fleet.await(k); !up) return fleet.give_up(up.error().text);
  return fleet;
}

// That of the folder of the fleet lasts, so that the nodes of the next time have the same.
Result<void> Fleet::take_key(const FleetOptions& options) {
  const bool is_temporary = options.data_dir.empty();
  if (is_temporary && logs_.empty())
    return fail(
        "the nodes' keys need a folder, and none can be made in {}; expected TMPDIR to name one, "
        "or node.data-dir",
        std::filesystem::temp_directory_path().string());
  TRY(key_, FleetKey::in(is_temporary ? logs_ : options.data_dir, is_temporary));
  return {};
}

Result<void> Fleet::launch(const FleetOptions& options, std::size_t index, const Endpoint& http) {
  const std::string name = fmt::format("node-{}", index);
  const std::string folder =
      logs_.empty() ? std::filesystem::temp_directory_path().string() : logs_;
  std::string seed = index == 0 ? "" : to_string(nodes_[0].control);
  if (index > 0 && !nodes_[0].key.empty()) seed += "#" + nodes_[0].key;
  std::vector<std::string> arguments = node_arguments(options, index, seed, http, logs_);
  if (options.has_keys) arguments.push_back("--cluster-key=" + cluster_key());
  TRY(auto process, ChildProcess::start(arguments, fmt::format("{}/{}.log", folder, name)));
  nodes_.push_back({.name = name, .process = std::move(process)});
  return {};
}

// The others have done nothing worth keeping yet.
tl::unexpected<Error> Fleet::give_up(const std::string& reason) {
  nodes_.clear();
  remove_logs();
  return fail("{}", reason);
}

void Fleet::remove_logs() {
  std::error_code ignored;
  if (!logs_.empty()) std::filesystem::remove_all(logs_, ignored);
}

Result<void> Fleet::await(std::size_t index) {
  Node& node = nodes_[index];
  const auto line = node.process.ready(kStartPatience, is_interrupted_);
  if (!line && is_interrupted_()) return {};
  const json addresses = parse_json(line.value_or(""));
  if (addresses.is_discarded())
    return fail("{} did not start: {}", node.name, last_line(node.process.log_path()));
  TRY(node.control, parse_endpoint(addresses.value("control", "")));
  TRY(node.http, parse_endpoint(addresses.value("http", "")));
  node.key = addresses.value("key", "");
  return {};
}

void Fleet::refresh() {
  const Patience patience(kStatusLimits);
  for (Node& node : nodes_)
    if (!node.process.running())
      take_last_status(node);
    else if (!is_interrupted_())
      if (auto status = get(node, "/v1/status", patience)) node.status = std::move(*status);
}

bool Fleet::end_run() {
  const Patience patience(kStatusLimits);
  bool is_told = false;
  for (Node& node : nodes_) {
    const bool trains = part(node.status, "run").value("round", 0.0) > 0;
    if (!node.process.running() || !trains) continue;
    const auto reply = http_request(node.http, "POST", "/v1/stop", "", patience.for_node(node));
    is_told = is_told || (reply && reply->status == 202);
  }
  return is_told;
}

const json& Fleet::first_status() {
  static const json kNothing;
  for (Node& node : nodes_)
    if (node.status.is_object() && !node.is_silent && node.process.running()) return node.status;
  return kNothing;
}

// It may have trained rounds since it was asked, or never have been asked.
void Fleet::take_last_status(Node& node) {
  if (std::exchange(node.has_last_status, true) || logs_.empty()) return;
  if (json status = read_status(status_path(logs_, node.name)); !status.is_null())
    node.status = std::move(status);
}

std::size_t Fleet::running() {
  std::size_t count = 0;
  for (Node& node : nodes_) count += node.process.running() ? 1 : 0;
  return count;
}

std::size_t Fleet::failed() {
  return static_cast<std::size_t>(std::ranges::count_if(nodes_, [](Node& node) {
    return !node.process.running() && node.process.exit_code().value_or(0) != 0;
  }));
}

gossip::NodeSummary summary_of(const json& status) {
  const json &run = part(status, "run"), &evaluation = part(run, "eval");
  return {.name = {},
          .round = run.value("round", std::uint64_t{0}),
          .loss = number(run, "loss"),
          .accuracy = number(evaluation, "accuracy"),
          .rmse = number(evaluation, "rmse"),
          // Of models that nobody has trained it would be 0.
          .distance = number(run, "steps").value_or(0) > 0
                          ? number(part(status, "consensus"), "distance")
                          : std::nullopt,
          .distance_to_optimum = number(run, "distance_to_optimum"),
          .sent_bytes = part(status, "traffic").value("sent_bytes", std::uint64_t{0}),
          .held_out = read_evaluation(evaluation),
          .alone = read_evaluation(part(run, "alone"))};
}

std::vector<gossip::NodeSummary> Fleet::node_summaries() const {
  std::vector<gossip::NodeSummary> summaries;
  for (const Node& node : nodes_) {
    summaries.push_back(summary_of(node.status));
    summaries.back().name = node.name;
  }
  return summaries;
}

std::vector<gossip::NodeSummary> Fleet::present_summaries() {
  const std::vector<gossip::NodeSummary> all = node_summaries();
  std::vector<gossip::NodeSummary> present;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (nodes_[k].process.running()) present.push_back(all[k]);
  return present.empty() ? all : present;
}

std::vector<NodeView> Fleet::node_views() {
  std::vector<NodeView> views;
  for (const gossip::NodeSummary& summary : node_summaries()) {
    Node& node = nodes_[views.size()];
    const std::string told = node.status.is_object() ? "-" : "starting";
    views.push_back({.name = node.name,
                     .state = !node.process.running() ? "ended"
                              : node.is_silent        ? "silent"
                                               : part(node.status, "node").value("state", told),
                     .round = summary.round,
                     .loss = summary.loss,
                     .accuracy = summary.accuracy,
                     .rmse = summary.rmse,
                     .distance = summary.distance});
  }
  return views;
}

std::optional<double> Fleet::samples() const {
  double total = 0;
  for (const Node& node : nodes_) {
    if (!node.status.is_object()) return std::nullopt;
    total += number(part(node.status, "run"), "samples").value_or(0);
  }
  return total;
}

// Warnings are lines of their own.
Fleet::Sentence Fleet::sentence() {
  Sentence first;
  const std::vector<gossip::NodeSummary> nodes = present_summaries();
  for (Node& node : nodes_) {
    if (!node.status.is_object() || node.is_silent || !node.process.running()) continue;
    const json& own = node.status.at("node");
    const auto warnings = own.value("warnings", std::vector<std::string>());
    std::string text = with_means(node.status.value("summary", ""), nodes);
    for (const std::string& warning : warnings)
      if (const std::size_t place = text.find(warning + "; "); place != std::string::npos)
        text.erase(place, warning.size() + 2);
    if (part(own, "reasons").size() > warnings.size())
      return {fmt::format("{}: {}", node.name, text), true};
    if (first.text.empty())
      first.text =
          std::ranges::all_of(nodes_, is_finished) ? with_all_finished(text, nodes_.size()) : text;
  }
  return first;
}

bool is_finished(const Fleet::Node& node) {
  return part(node.status, "node").value("state", "") == "finished";
}

std::string last_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line, last;
  while (std::getline(stream, line))
    if (!line.empty()) last = line;
  return last;
}

std::vector<gossip::SeriesPoint> Fleet::series() {
  gossip::Series series;
  const Patience patience(kCurveLimits);
  for (Node& node : nodes_) {
    if (!node.process.running() || is_interrupted_()) continue;
    const auto document = get(node, "/v1/convergence", patience);
    if (!document) continue;
    for (const json& item : document->value("series", json::array())) {
      const gossip::Progress point = read_point(item);
      series.add(Time(from_seconds(point.time_s)), point);
    }
  }
  return series.points();
}

gossip::MembersSummary Fleet::members() const {
  for (const Node& node : nodes_) {
    if (!node.status.is_object()) continue;
    const json& members = node.status.at("members");
    const auto count = [&](const char* state) { return members.value(state, std::uint64_t{0}); };
    return {count("alive"), count("suspect"), count("dead"), count("left")};
  }
  return {};
}

// A node that was asked to end, here or elsewhere, has not failed. Equal ends are told once.
std::string Fleet::keep_logs_of_failed() {
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, std::string> logs;  // of the first
  for (Node& node : nodes_) {
    const std::string& log = node.process.log_path();
    const int code = node.process.running() ? 0 : node.process.exit_code().value_or(0);
    node.has_failed = code != 0;
    if (code == 0) continue;
    const std::string last = last_line(log);
    std::string text = fmt::format("ended with {}: {}", describe_exit(code), printable(last));
    if (const auto words = trainer_words(log);
        has_trainers_ && !words.empty() && last.find(words.back()) == std::string::npos)
      text += fmt::format("; its trainer wrote last: {}", printable(words.back()));
    names[text].push_back(node.name);
    logs.try_emplace(text, log);
  }
  std::string told;
  for (const auto& [text, nodes] : names)
    told += nodes.size() == 1
                ? fmt::format("{} {} (log: {})\n", nodes[0], text, logs[text])
                : fmt::format("{} {} (log of the first: {})\n", enumerate(nodes), text, logs[text]);
  return told;
}

// That of a failed node is told with its end.
void Fleet::hear_trainers() {
  std::map<std::string, std::vector<std::string>> names;
  for (const Node& node : nodes_)
    if (const auto words = trainer_words(node.process.log_path());
        has_trainers_ && !node.has_failed && !words.empty())
      names[words.back()].push_back(node.name);
  for (const auto& [words, nodes] : names)
    trainers_last_.push_back(fmt::format("The trainer{} of {} wrote last: {}",
                                         nodes.size() == 1 ? "" : "s", enumerate(nodes),
                                         printable(words)));
}

std::string Fleet::stop() {
  const std::string failed = keep_logs_of_failed();
  for (Node& node : nodes_) {
    node.process.signal(SIGTERM);
    node.process.signal(SIGCONT);  // a stopped one would not get it
  }
  const milliseconds more = has_trainers_ ? kTrainersPatience : milliseconds(0);
  const auto until = std::chrono::steady_clock::now() + kStopPatience + more;
  for (Node& node : nodes_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (!node.process.wait(std::chrono::duration_cast<milliseconds>(left)))
      node.process.signal(SIGKILL);
  }
  take_models();
  hear_trainers();
  for (const Node& node : nodes_) {
    std::error_code ignored;
    if (!node.has_failed) std::filesystem::remove(node.process.log_path(), ignored);
    if (!logs_.empty()) std::filesystem::remove(status_path(logs_, node.name), ignored);
  }
  if (failed.empty()) remove_logs();
  return failed;
}

void Fleet::take_models() {
  for (const Node& node : nodes_) {
    const std::string path = model_path(logs_, node.name);
    std::error_code ignored;
    if (logs_.empty() || !std::filesystem::exists(path, ignored)) continue;
    if (ends_apart_ || models_.empty())
      if (auto bytes = models::read_text(path)) models_.emplace_back(node.name, *std::move(bytes));
    std::filesystem::remove(path, ignored);
  }
}

}  // namespace starling::daemon
