// What a trainer and its node say in the log that they share.
#pragma once

#include <string>
#include <vector>

namespace starling::daemon {

// The last lines of the log that are not the node's own, oldest first: of a trainer that failed,
// the end of its traceback. None if the log cannot be read.
std::vector<std::string> trainer_words(const std::string& log_path);
// What the last line of the node's own says, without its time, its level and its name; empty if
// there is none.
std::string node_words(const std::string& log_path);

}  // namespace starling::daemon
