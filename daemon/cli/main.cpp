// starling: the one program. This file and the room simulate/ are where the layers meet: the only
// ones of the daemon that know the simulator.
#include <string>
#include <vector>

#include "daemon/cli/commands.h"
#include "daemon/cli/help/completion.h"
#include "daemon/cli/simulate/command_simulate.h"
#include "daemon/cli/simulate/main_rehearse.h"
#include "daemon/cli/simulate/main_setup.h"
#include "daemon/cli/simulate/main_simulate.h"
#include "daemon/cli/sweep/command_sweep.h"
#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "daemon/setup/config.h"
#include "daemon/setup/given_ticket.h"

namespace {

using namespace starling;
using namespace starling::daemon;

int unknown(std::string_view name) {
  fmt::print(stderr, "starling: unknown command \"{}\"; `starling --help` lists them\n", name);
  return kExitWrongUsage;
}

int print_overview(int code) {
  fmt::print("{}", overview_of(commands()));
  return code;
}

Outcome<int> sweep_runs(const CommandLine& line) {
  return sweep(line, line.has("simulate") ? check_simulation : check_local_run);
}

int dispatch(std::span<const std::string> words) {
  if (words.empty()) return print_overview(kExitWrongUsage);
  const std::string name = words[0] == "--version" ? "version" : words[0];
  const auto rest = words.subspan(1);
  if (name == "complete") {  // for the scripts of `starling completion`
    fmt::print("{}", completions(rest, commands(), schema()));
    return kExitDone;
  }
  if (name == "help" || name == "--help" || name == "-h") {
    if (rest.empty() || rest[0].starts_with('-')) return print_overview(kExitDone);
    const ProgramCommand* command = find_command(rest[0]);
    if (!command) return unknown(rest[0]);
    fmt::print("{}", help_of(*command));
    return kExitDone;
  }
  const ProgramCommand* found = find_command(name);
  if (!found) return unknown(name);
  ProgramCommand command = *found;
  if (found == &kSimulate) command.run = simulate;
  if (found == &kRehearse) command.run = rehearse;
  if (found == &kSweep) command.run = sweep_runs;
  return carry_out(command, rest);
}

}  // namespace

int main(int count, char** values) {
  keep_large_blocks();
  hide_tickets(std::span(values, static_cast<std::size_t>(count)));
  const std::vector<std::string> words(values + 1, values + count);
  if (words.empty() || words[0] != kSimulate.name) use_one_arena();
  log::set_up(log::Level::info, "starling");
  return dispatch(words);
}
