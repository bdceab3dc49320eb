#include "daemon/process/other_processes.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "base/utf8.h"

namespace starling::daemon {
namespace {

struct Entry {
  OtherProcess process;
  pid_t group = 0;
};

// A line "17 (name) S 1 17 …": number, name, state, parent and group. A name may hold brackets.
std::optional<Entry> entry_of(pid_t process) {
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", process)), line);
  const std::size_t begin = line.find('('), end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  Entry entry{{process, printable(line.substr(begin + 1, end - begin - 1))}};
  pid_t parent = 0;
  std::istringstream rest(line.substr(end + 1));
  if (!(rest >> entry.process.state >> parent >> entry.group)) return std::nullopt;
  return entry;
}

}  // namespace

std::vector<OtherProcess> living_members(pid_t group) {
  std::vector<OtherProcess> members;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const auto process = parse_exactly<pid_t>(at->path().filename().string());
    if (!process) continue;
    const auto entry = entry_of(*process);
    const bool has_ended = entry && (entry->process.state == 'Z' || entry->process.state == 'X');
    if (entry && entry->group == group && !has_ended) members.push_back(entry->process);
  }
  return members;
}

std::optional<std::string> variable_of(pid_t process, std::string_view name) {
  std::ifstream environment(fmt::format("/proc/{}/environ", process), std::ios::binary);
  const std::string begin = fmt::format("{}=", name);
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with(begin)) return entry.substr(begin.size());
  return std::nullopt;
}

}  // namespace starling::daemon
