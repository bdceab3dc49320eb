// What --help says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace starling::daemon {

// The help of a command, or the overview for "" and "help". Empty for a command that does not
// exist.
std::string help_for(std::string_view command);

// A command and what it does, in a few words.
struct HelpTopic {
  std::string_view command, summary;
};
// In the order of the overview.
std::vector<HelpTopic> help_topics();

}  // namespace starling::daemon
