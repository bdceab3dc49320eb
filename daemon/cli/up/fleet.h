// Fleet: the local nodes that `starling up` starts, watches over REST and stops.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/cli/terminal/fleet_view.h"
#include "daemon/cli/up/fleet_key.h"
#include "daemon/process/child_process.h"
#include "gossip/report/summary.h"

namespace starling::daemon {

struct FleetOptions {
  std::size_t nodes = 8;
  std::string program;                 // path of this program
  std::vector<std::string> arguments;  // -c FILE, --section.key=value
  std::vector<std::string> shared;     // those that one more node needs too
  std::string more_data;               // what it trains on; empty: on its share of what all have
  std::vector<std::vector<std::string>> site_arguments;  // by node, over the others; or none
  bool has_trainers = false;                             // of the user's own
  bool ends_apart = false;         // each node has a model of its own, which others do not know
  bool parts = false;              // node k holds part k of n of the data
  std::string host = "127.0.0.1";  // of all its nodes
  std::string data_dir;            // with a folder in it for each node; empty: nothing is kept
  bool has_keys = true;            // the nodes prove themselves to each other
  Endpoint first_http;             // of node-0, when it is free; others take any port
  // Whether the user wants all to end: then no wait goes on.
  std::function<bool()> is_interrupted = [] { return false; };
};

// What a node says of itself, without its name.
gossip::NodeSummary summary_of(const nlohmann::json& status);
// Of a log, ignoring empty lines; empty if there is none.
std::string last_line(const std::string& path);

class Fleet {
 public:
  // Starts all nodes; the error names the node that did not start, and its message. After an
  // interruption only some are started.
  static Result<Fleet> start(const FleetOptions& options);
  Fleet(Fleet&&) = default;

  struct Node {
    std::string name;
    ChildProcess process;
    Endpoint control = {}, http = {};
    std::string key = {};             // its public key; empty: none
    nlohmann::json status = nullptr;  // the last /v1/status; null before the first
    bool is_silent = false;           // it did not answer the last request
    bool has_last_status = false;     // has ended, and `status` is what it wrote then
    bool has_failed = false;          // before stop()
  };

  std::vector<Node>& nodes() { return nodes_; }
  // The last status of the first node that answers; null: none does.
  const nlohmann::json& first_status();
  // Asks every node that runs for its status. One that has left has written its last one.
  void refresh();
  // Asks every node that trains to end the run for all, with one model. Returns whether one will.
  bool end_run();
  std::size_t running();
  // Those that ended with an error.
  std::size_t failed();
  bool has_trainers() const { return has_trainers_; }
  // Where the nodes write, and their trainers; empty: in the folder for temporary files.
  const std::string& log_folder() const { return logs_; }
  std::vector<gossip::NodeSummary> node_summaries() const;
  // Of those that run, whose rounds and losses go on; of all where none runs.
  std::vector<gossip::NodeSummary> present_summaries();
  // Over the curves of all nodes that run; a node that does not answer is_silent afterwards.
  std::vector<gossip::SeriesPoint> series();
  // Each node as shown to people, without its curve.
  std::vector<NodeView> node_views();
  // Of all nodes together, since their start; nothing until all have answered.
  std::optional<double> samples() const;
  // The sentence of the first node that answers and has reasons, after its name, or else of the
  // first that answers; without its warnings, and empty before one answers. Its loss and accuracy
  // are the means over present_summaries(), in place of the node's estimates, which lag.
  struct Sentence {
    std::string text = {};
    bool has_reasons = false;
  };
  Sentence sentence();
  // As the first node that answered sees them.
  gossip::MembersSummary members() const;
  // Asks all to leave, waits for all together, and kills the remaining ones. Removes the logs,
  // except those of nodes that had failed; the text has their last lines, and where the logs are.
  std::string stop();
  // With which one more node joins; empty: the nodes have no keys.
  const std::string& cluster_key() const { return key_.path(); }
  // The model files of nodes that left normally, by the node's name: of all where they end apart,
  // else of the first; none before stop().
  const std::vector<std::pair<std::string, std::string>>& models() const { return models_; }
  // "The trainers of node-0 and node-1 wrote last: done", of those whose node has not failed; empty
  // before stop().
  const std::vector<std::string>& trainers_last() const { return trainers_last_; }

 private:
  explicit Fleet(std::function<bool()> is_interrupted)
      : is_interrupted_(std::move(is_interrupted)) {}
  Result<void> take_key(const FleetOptions& options);
  Result<void> launch(const FleetOptions& options, std::size_t index, const Endpoint& http);
  Result<void> await(std::size_t index);
  tl::unexpected<Error> give_up(const std::string& reason);
  std::string keep_logs_of_failed();
  void hear_trainers();
  void remove_logs();
  void take_models();
  void take_last_status(Node& node);

  std::function<bool()> is_interrupted_;
  std::vector<Node> nodes_;
  bool has_trainers_ = false, ends_apart_ = false;
  std::string logs_;  // folder; empty: not a folder of this fleet alone
  FleetKey key_;
  std::vector<std::pair<std::string, std::string>> models_;
  std::vector<std::string> trainers_last_;
};

// By its last status: it has reached its goal.
bool is_finished(const Fleet::Node& node);

}  // namespace starling::daemon
