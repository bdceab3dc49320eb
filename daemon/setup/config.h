// Config: every key of the program in one schema, and the configuration that a node derives from
// their values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "daemon/process/log.h"
#include "gossip/options.h"
#include "models/learner.h"

namespace starling::daemon {

const Schema& schema();

struct Config {
  gossip::Options node;
  models::LearnerOptions learner;
  Endpoint listen_control{"127.0.0.1", 7600}, listen_http{"127.0.0.1", 7680};
  // By which others reach this node. Host empty: that of the listening address, or one that is
  // found; port 0: that of the listening address.
  Endpoint advertise;
  bool is_hidden = false;               // nobody can dial this node
  std::optional<Endpoint> name_server;  // for seeds in the DNS; nothing: those of the system
  std::string token_file;
  std::vector<std::string> allowed_hosts;  // names in requests for the REST interface
  std::string data_dir;                    // for state that outlives the process; empty: none
  bool is_insecure = false;                // others may reach a node without keys
  std::string authorized_keys;             // file with the names and keys of the nodes; empty: none
  // Between two checkpoints, as rounds or as time; both 0: none but at the end.
  std::uint64_t checkpoint_rounds = 0;
  Duration checkpoint_every = std::chrono::seconds(60);
  std::size_t checkpoint_keep = 3;  // generations
  bool resumes = true;              // from the newest checkpoint in data_dir
  std::string trainer_socket;       // path; empty: the default
  std::string trainer_command;      // that the daemon starts; empty: the user starts the trainer
  Duration trainer_save_every = std::chrono::seconds(60);  // 0: never
  bool trainer_shares_state = false;                       // with newcomers
  std::string algorithm_reason;  // why `auto` chose it; empty: the user chose it
  std::string advice;            // on the user's choice; empty: none
  std::string address_doubt;     // of `advertise`, as it is looked up here; empty: none
  bool stays = false;            // keep serving after the goal
  log::Level log_level = log::Level::info;
};

// The checked values, edge list included. The error holds every mistake, one a line; `mistakes` are
// those of gathering the settings.
Result<Config> read_config(const Settings& settings, std::vector<std::string> mistakes);

// The same with other values of live keys, for the node that runs by `before`: what files said
// stays, and so does what was chosen then.
Result<Config> read_again(Settings settings, const Config& before);

// For a planned cluster of n nodes named node-0 to node-(n-1).
Result<void> validate_cluster(const Config& config, std::size_t nodes);

// That the goal can be reached with these data.
Result<void> validate_goal(const Config& config, const models::Data& data);

// Warnings about a valid configuration: environment variables that look like keys but are none, an
// algorithm that fits badly.
std::vector<std::string> doubts(const Config& config, const Schema& schema);

// Whether node k of n holds part k of n of the data, whatever happens to the others. Samples dealt
// out at random may move when nodes come and go; any other partition represents sites that own
// their data.
bool deals_fixed_parts(const Config& config);

// {"section.key": {"value": …, "origin": …, "scope": …, "live": …}}, as GET /v1/config answers.
std::string config_json(const Settings& settings);

}  // namespace starling::daemon
