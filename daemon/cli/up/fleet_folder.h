// fleet_folder: a file of `starling up` beside its nodes' folders, so that a later `up` goes on
// with the same nodes and settings: fleet.json, {"nodes": n, "settings": {"section.key": "value"}}.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/command_line.h"
#include "base/result.h"
#include "base/settings.h"

namespace starling::daemon {

// Writes it into the folder, which is created if missing. Leaves out defaults, and the folder
// itself.
Result<void> keep_fleet(const std::string& folder, std::size_t nodes, const Settings& settings);

// Adds to the line what it lacks and the folder has: the number of nodes, the settings, and the
// folder as node.data-dir. If the line has a configuration file, only that file's settings count.
Result<void> recall_fleet(const std::string& folder, CommandLine& line);

}  // namespace starling::daemon
