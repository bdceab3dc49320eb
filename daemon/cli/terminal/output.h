// Output: where the results of commands go, and their complaints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/command_line.h"

namespace starling::daemon {

// "starling COMMAND: TEXT" on standard error. Gives the exit code.
int complain(std::string_view command, const Complaint& complaint);

// The whole text, to the file that --output names, or else to standard output.
Outcome<void> write_output(const std::string& text, const std::optional<std::string>& path);

}  // namespace starling::daemon
