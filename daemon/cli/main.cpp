// starling: the one program. This file and main_simulate.cpp are where the layers meet: the only
// ones of the daemon that know the simulator.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/command_config.h"
#include "daemon/cli/command_data.h"
#include "daemon/cli/command_plan.h"
#include "daemon/cli/command_predict.h"
#include "daemon/cli/command_query.h"
#include "daemon/cli/command_run.h"
#include "daemon/cli/command_up.h"
#include "daemon/cli/exit_code.h"
#include "daemon/cli/main_simulate.h"
#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "daemon/process/version.h"

namespace {

using namespace starling::daemon;

int dispatch(std::string_view command, std::span<const std::string> arguments) {
  constexpr std::string_view kQueries[] = {"status",      "members", "neighbors", "topology",
                                           "convergence", "events",  "join",      "leave"};
  if (command == "run") return command_run(arguments);
  if (command == "up") return command_up(arguments);
  if (command == "plan") return command_plan(arguments);
  if (command == "simulate") return command_simulate(arguments);
  if (command == "data") return command_data(arguments);
  if (command == "predict") return command_predict(arguments);
  if (command == "evaluate") return command_evaluate(arguments);
  if (command == "config") return command_config(arguments);
  if (std::ranges::find(kQueries, command) != std::end(kQueries))
    return command_query(command, arguments);
  if (command == "version" || command == "--version") {
    fmt::print("starling {}\n", kVersion);
    return kExitDone;
  }
  if (command == "help" || command == "--help" || command == "-h")
    return print_help(arguments.empty() ? "" : arguments[0]);
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
