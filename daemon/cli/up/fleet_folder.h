// fleet_folder: what `starling up` writes beside its nodes' folders, so that a later one goes on
// with the same nodes and settings: fleet.json, {"nodes": n, "settings": {"section.key": "value"}}.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/command_line.h"
#include "base/result.h"
#include "base/settings.h"

namespace starling::daemon {

// Writes it into the folder, which is made where it is missing. What is at its default, and the
// folder itself, is left out.
Result<void> keep_fleet(const std::string& folder, std::size_t nodes, const Settings& settings);

// Adds to the line what the folder says and the line does not: the number of nodes, the settings,
// and the folder as node.data-dir. With a configuration file of its own only that file's count.
Result<void> recall_fleet(const std::string& folder, CommandLine& line);

}  // namespace starling::daemon
