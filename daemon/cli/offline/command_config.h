// starling config: every key, its value, where the value comes from, and what it means.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_config(std::span<const std::string> arguments);

}  // namespace starling::daemon
