// A trainer's output in the log that it shares with its node.
#pragma once

#include <string>
#include <vector>

namespace starling::daemon {

// The last lines of the log that are not the node's own, oldest first: of a trainer that failed,
// the end of its traceback. None if the log cannot be read.
std::vector<std::string> trainer_words(const std::string& log_path);

}  // namespace starling::daemon
