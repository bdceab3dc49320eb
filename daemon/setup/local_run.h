// LocalRun: what a command line says of nodes that are started together on this machine.
#pragma once

#include <cstddef>

#include "base/command_line.h"
#include "base/settings.h"
#include "daemon/setup/config.h"
#include "daemon/setup/table_recipe.h"

namespace starling::daemon {

struct LocalRun {
  std::size_t nodes = 0;
  Settings settings;
  Recipe recipe = {};    // in place of missing settings of the user
  bool is_near = false;  // the user names no cluster.preset
  Config config = {};
};

// Checked without the data. The error says every mistake.
Result<LocalRun> read_local_run(const CommandLine& line);

}  // namespace starling::daemon
