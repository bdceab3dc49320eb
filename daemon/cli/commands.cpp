#include "daemon/cli/commands.h"

#include <algorithm>

#include "daemon/cli/ask/commands.h"
#include "daemon/cli/keys/commands.h"
#include "daemon/cli/offline/commands.h"
#include "daemon/cli/simulate/command_simulate.h"
#include "daemon/cli/sweep/command_sweep.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/up/command_up.h"

namespace starling::daemon {
namespace {

constexpr const ProgramCommand* kCommands[] = {
    &kRun,         &kUp,       &kStatus,     &kFleet,    &kMembers,       &kNeighbors, &kTopology,
    &kConvergence, &kEvents,   &kPlan,       &kSimulate, &kRehearse,      &kSweep,     &kData,
    &kPredict,     &kEvaluate, &kExport,     &kConfig,   &kTrace,         &kDoctor,    &kSet,
    &kJoin,        &kLeave,    &kStop,       &kPause,    &kCheckpoint,    &kResume,    &kKeygen,
    &kInvite,      &kRevoke,   &kCompletion, &kManual,   &kVersionCommand};

}  // namespace

Commands commands() {
  return kCommands;
}

const ProgramCommand* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &ProgramCommand::name);
  return found == std::end(kCommands) ? nullptr : *found;
}

int carry_out(const ProgramCommand& command, std::span<const std::string> arguments) {
  const auto line = parse_command_line(arguments, command);
  if (!line) return complain(command.name, line.error());
  if (line->has("help")) {
    fmt::print("{}", help_of(command));
    return kExitDone;
  }
  const auto code = command.run(*line);
  return code ? *code : complain(command.name, code.error());
}

}  // namespace starling::daemon
