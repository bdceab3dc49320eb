// other_processes: what the system reports of other processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling::daemon {

struct OtherProcess {
  pid_t process = 0;
  std::string name = {};  // of its program, printable
  char state = '?';       // as ps shows it: R runs, S sleeps, D waits for a device
};

// The processes of a group that have not ended. A zombie (Z) has ended.
std::vector<OtherProcess> living_members(pid_t group);

// The value of a variable in the environment that a process of this user was started with; nothing
// if it has none of that name, or cannot be read.
std::optional<std::string> variable_of(pid_t process, std::string_view name);

}  // namespace starling::daemon
