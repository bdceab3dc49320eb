// other_processes: what the system says of processes that are not this one.
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

// The processes of a group that have not ended. One whose end nobody has taken note of (Z) has.
std::vector<OtherProcess> living_members(pid_t group);

// What a process of this user had in its environment when its program began; nothing if it had none
// of that name, or does not let itself be looked at.
std::optional<std::string> variable_of(pid_t process, std::string_view name);

}  // namespace starling::daemon
