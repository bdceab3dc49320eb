#include "daemon/cli/terminal/output.h"

#include <cstdio>

#include "daemon/process/whole_file.h"

namespace starling::daemon {

int complain(std::string_view command, const Complaint& complaint) {
  fmt::print(stderr, "starling {}: {}\n", command, complaint.text);
  return complaint.code;
}

Outcome<void> write_output(const std::string& text, const std::optional<std::string>& path) {
  if (path) {
    if (const auto written = replace_file(*path, text); !written)
      return complaint(kExitFailed, "--output: {}", written.error().text);
    return {};
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) return complaint(kExitFailed, "standard output is closed");
  return {};
}

}  // namespace starling::daemon
