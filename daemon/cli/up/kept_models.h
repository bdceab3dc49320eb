// kept_models: the files with what the nodes of a fleet have learned.
#pragma once

#include <string>

#include "base/command_line.h"
#include "daemon/cli/up/fleet.h"
#include "models/data/data_options.h"

namespace starling::daemon {

struct KeptModels {
  std::string sentence;  // where they are; empty: there is none
  std::string commands;  // with which several predict, lines to copy
};

// Writes the model to `path`, or those of sites with other columns each to a file beside it.
Outcome<KeptModels> keep_models(const Fleet& fleet, const std::string& path,
                                const models::DataOptions& data);

}  // namespace starling::daemon
