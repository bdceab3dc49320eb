// setting_sources: the files and the environment of this process that settings are read from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace starling::daemon {

// The variables of this process.
std::vector<SettingSources::Pair> environment_variables();

// The effective settings: defaults, then the INI file at `path` if any, then the environment, then
// `keys`. `mistakes` gets what cannot be read.
Settings gather_settings(const Schema& schema, const std::optional<std::string>& path,
                         std::span<const SettingSources::Pair> keys,
                         std::vector<std::string>& mistakes);
// The same, with the mistakes as the error, one a line.
Result<Settings> load_settings(const Schema& schema, const std::optional<std::string>& path,
                               std::span<const SettingSources::Pair> keys);

}  // namespace starling::daemon
