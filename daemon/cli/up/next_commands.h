// next_commands: what to type in a second terminal while a fleet of `starling up` runs.
#pragma once

#include <string>
#include <vector>

#include "daemon/cli/up/fleet.h"
#include "daemon/setup/config.h"

namespace starling::daemon {

// Asks a node that runs. REQUIRES one node.
std::string how_to_ask(Fleet& fleet);
// Adds a node that learns the same. REQUIRES one node.
std::string how_to_join(Fleet& fleet, const FleetOptions& options);
// "; predict with it: ..."; of a trainer's model, how it is loaded.
std::string how_to_use(const std::string& model, bool is_of_trainers,
                       const models::DataOptions& data);
// What that node needs of its own: a file, or one of the parts. REQUIRES n nodes before it.
struct OneMore {
  std::vector<std::string> arguments = {};
  std::string words = {};  // what it trains on, where that is not its share of what all have
};
OneMore one_more(const Config& config, std::size_t n);

}  // namespace starling::daemon
