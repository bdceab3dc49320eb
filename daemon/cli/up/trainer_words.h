// Words of a trainer: what a process beside a node wrote into the log that both share.
#pragma once

#include <string>
#include <vector>

namespace starling::daemon {

// The last lines of the log that are not the node's own, oldest first: of a trainer that failed,
// the end of its traceback. None where the log cannot be read.
std::vector<std::string> trainer_words(const std::string& log_path);

}  // namespace starling::daemon
