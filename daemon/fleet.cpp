#include "daemon/fleet.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "daemon/http_client.h"
#include "models/gz_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double kNotYet = std::numeric_limits<double>::quiet_NaN();  // as a node reports it
constexpr milliseconds kStartPatience{60'000};                        // loading data included
constexpr milliseconds kStopPatience{5'000};
constexpr milliseconds kRequestPatience{2'000};  // of all nodes together
constexpr milliseconds kSilentPatience{100};     // of one that did not answer the last time

std::string last_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line, last;
  while (std::getline(stream, line))
    if (!line.empty()) last = line;
  return last;
}

// What `up` decides for a node over what the user said.
std::vector<std::string> node_arguments(const FleetOptions& options, std::size_t index,
                                        const std::string& seed, const Endpoint& http,
                                        const std::string& model_path) {
  std::vector<std::string> arguments{options.program, "run"};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  const auto set = [&arguments](std::string_view key, std::string_view value) {
    arguments.push_back(fmt::format("--{}={}", key, value));
  };
  set("node.name", fmt::format("node-{}", index));
  set("listen.control", "127.0.0.1:0");
  set("listen.bulk", "127.0.0.1:0");
  set("listen.http", to_string(http));
  set("cluster.expect", std::to_string(options.nodes));
  set("stop.stay", "true");
  // Goals are judged over all nodes together.
  set("stop.accuracy", "");
  set("stop.loss", "");
  set("stop.seconds", "0");
  if (!options.data_dir.empty())
    set("node.data-dir", fmt::format("{}/node-{}", options.data_dir, index));
  if (options.parts) set("data.shard", fmt::format("{}/{}", index, options.nodes));
  if (!seed.empty()) set("cluster.join", seed);
  if (!model_path.empty()) arguments.push_back("--output=" + model_path);
  arguments.push_back(fmt::format("--ready-file=/dev/fd/{}", ChildProcess::kReadyDescriptor));
  return arguments;
}

std::string model_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? "" : fmt::format("{}/{}.safetensors", folder, name);
}

// Empty when it cannot be made.
std::string make_log_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "starling-up-XXXXXX").string();
  return ::mkdtemp(pattern.data()) ? pattern : std::string();
}

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

gossip::Progress read_point(const json& point) {
  gossip::Progress progress;
  progress.round = point.value("round", std::uint64_t{0});
  progress.time_s = point.value("time_s", 0.0);
  progress.loss = number(point, "loss").value_or(kNotYet);
  progress.accuracy = number(point, "accuracy");
  progress.rmse = number(point, "rmse");
  progress.distance = number(point, "distance");
  progress.distance_to_optimum = number(point, "distance_to_optimum");
  progress.bytes = point.value("bytes", std::uint64_t{0});
  return progress;
}

// One that is stopped does not hold up those that follow.
class Patience {
 public:
  milliseconds for_node(const Fleet::Node& node) const {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now());
    return std::max(kSilentPatience, node.is_silent ? kSilentPatience : left);
  }

 private:
  using steady_clock = std::chrono::steady_clock;
  steady_clock::time_point until_ = steady_clock::now() + kRequestPatience;
};

std::optional<json> get(Fleet::Node& node, const std::string& target, const Patience& patience) {
  const auto reply = http_request(node.http, "GET", target, "", patience.for_node(node));
  node.is_silent = !reply;
  if (!reply || reply->status != 200) return std::nullopt;
  json document = json::parse(reply->body, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

}  // namespace

// Node 0 first, for the others join through it; those all at once.
Result<Fleet> Fleet::start(const FleetOptions& options) {
  Fleet fleet;
  fleet.logs_ = make_log_folder();
  const Endpoint any{"127.0.0.1", 0};
  // It takes the address that `starling status` asks by default, unless somebody has that.
  TRY_DO(fleet.launch(options, 0, options.first_http));
  if (!fleet.await(0)) {
    fleet.nodes_.clear();
    TRY_DO(fleet.launch(options, 0, any));
    TRY_DO(fleet.await(0));
  }
  for (std::size_t k = 1; k < options.nodes; ++k) TRY_DO(fleet.launch(options, k, any));
  for (std::size_t k = 1; k < options.nodes; ++k) TRY_DO(fleet.await(k));
  return fleet;
}

Result<void> Fleet::launch(const FleetOptions& options, std::size_t index, const Endpoint& http) {
  const std::string name = fmt::format("node-{}", index);
  const auto log_path = [this](const std::string& of) {
    return fmt::format("{}/{}.log",
                       logs_.empty() ? std::filesystem::temp_directory_path().string() : logs_, of);
  };
  const std::string seed = index == 0 ? "" : to_string(nodes_[0].control);
  TRY(auto process,
      ChildProcess::start(node_arguments(options, index, seed, http, model_path(logs_, name)),
                          log_path(name)));
  nodes_.push_back({name, std::move(process), {}, {}, nullptr, false});
  return {};
}

Result<void> Fleet::await(std::size_t index) {
  Node& node = nodes_[index];
  const json addresses =
      json::parse(node.process.ready(kStartPatience).value_or(""), nullptr, false);
  if (addresses.is_discarded())
    return fail("{} did not start: {} (log: {})", node.name, last_line(node.process.log_path()),
                node.process.log_path());
  TRY(node.control, parse_endpoint(addresses.value("control", "")));
  TRY(node.http, parse_endpoint(addresses.value("http", "")));
  return {};
}

void Fleet::refresh() {
  const Patience patience;
  for (Node& node : nodes_)
    if (node.process.running())
      if (auto status = get(node, "/v1/status", patience)) node.status = std::move(*status);
}

std::size_t Fleet::running() {
  std::size_t count = 0;
  for (Node& node : nodes_) count += node.process.running() ? 1 : 0;
  return count;
}

std::vector<gossip::NodeSummary> Fleet::node_summaries() const {
  std::vector<gossip::NodeSummary> summaries;
  for (const Node& node : nodes_) {
    gossip::NodeSummary summary;
    summary.name = node.name;
    if (node.status.is_object()) {
      const json& run = node.status.at("run");
      summary.round = run.value("round", std::uint64_t{0});
      summary.loss = number(run, "loss");
      if (const auto eval = run.find("eval"); eval != run.end()) {
        summary.accuracy = number(*eval, "accuracy");
        summary.rmse = number(*eval, "rmse");
      }
      summary.distance = number(node.status.at("consensus"), "distance");
      summary.distance_to_optimum = number(run, "distance_to_optimum");
      summary.sent_bytes = node.status.at("traffic").value("sent_bytes", std::uint64_t{0});
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<gossip::SeriesPoint> Fleet::series() {
  gossip::Series series;
  const Patience patience;
  for (Node& node : nodes_) {
    if (!node.process.running()) continue;
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

void Fleet::stop() {
  const bool all_ran = running() == nodes_.size();
  for (Node& node : nodes_) {
    node.process.signal(SIGTERM);
    node.process.signal(SIGCONT);  // one that is stopped would not hear it
  }
  const auto until = std::chrono::steady_clock::now() + kStopPatience;
  for (Node& node : nodes_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (!node.process.wait(std::chrono::duration_cast<milliseconds>(left)))
      node.process.signal(SIGKILL);
  }
  take_model();
  std::error_code ignored;
  if (all_ran && !logs_.empty()) std::filesystem::remove_all(logs_, ignored);
}

void Fleet::take_model() {
  for (const Node& node : nodes_) {
    const std::string path = model_path(logs_, node.name);
    std::error_code ignored;
    if (!model_.empty() || path.empty() || !std::filesystem::exists(path, ignored)) continue;
    if (auto bytes = models::read_text(path)) model_ = *std::move(bytes);
  }
}

}  // namespace starling::daemon
