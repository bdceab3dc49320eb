// starling: the one program. This file and main_simulate.cpp are where the layers meet: the only
// ones of the daemon that know the simulator.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/ask/command_checkpoint.h"
#include "daemon/cli/ask/command_doctor.h"
#include "daemon/cli/ask/command_export.h"
#include "daemon/cli/ask/command_query.h"
#include "daemon/cli/command_manual.h"
#include "daemon/cli/command_run.h"
#include "daemon/cli/offline/command_config.h"
#include "daemon/cli/offline/command_data.h"
#include "daemon/cli/offline/command_plan.h"
#include "daemon/cli/offline/command_predict.h"
#include "daemon/cli/simulate/main_simulate.h"
#include "daemon/cli/terminal/exit_code.h"
#include "daemon/cli/up/command_up.h"
#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "daemon/process/version.h"

namespace {

using namespace starling::daemon;

using Arguments = std::span<const std::string>;

int command_version(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "--help") return print_help("version");
  fmt::print("starling {}\n", kVersion);
  return kExitDone;
}

int command_help(Arguments arguments) {
  return print_help(arguments.empty() ? "" : arguments[0]);
}

struct Command {
  std::string_view name;
  int (*run)(Arguments arguments);
};
constexpr Command kCommands[] = {{"run", command_run},
                                 {"up", command_up},
                                 {"plan", command_plan},
                                 {"simulate", command_simulate},
                                 {"data", command_data},
                                 {"predict", command_predict},
                                 {"evaluate", command_evaluate},
                                 {"export", command_export},
                                 {"config", command_config},
                                 {"doctor", command_doctor},
                                 {"checkpoint", command_checkpoint},
                                 {"completion", command_completion},
                                 {"manual", command_manual},
                                 {"version", command_version},
                                 {"--version", command_version},
                                 {"help", command_help},
                                 {"--help", command_help},
                                 {"-h", command_help}};
// Those that ask a node that runs.
constexpr std::string_view kQueries[] = {"status",   "fleet",       "members", "neighbors",
                                         "topology", "convergence", "events",  "trace",
                                         "join",     "leave",       "pause",   "resume"};

int dispatch(std::string_view command, Arguments arguments) {
  const auto found = std::ranges::find(kCommands, command, &Command::name);
  if (found != std::end(kCommands)) return found->run(arguments);
  if (std::ranges::find(kQueries, command) != std::end(kQueries))
    return command_query(command, arguments);
  return wrong_usage(fmt::format("unknown command \"{}\"; `starling --help` lists them", command));
}

}  // namespace

int main(int count, char** values) {
  keep_large_blocks();
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.empty()) {
    print_help("");
    return kExitWrongUsage;
  }
  if (arguments[0] != "simulate") use_one_arena();
  log::set_up(log::Level::info, "starling");
  return dispatch(arguments[0], std::span(arguments).subspan(1));
}
