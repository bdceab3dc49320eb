// starling checkpoint: tells a node, or all of them, to save, and waits until they have.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_checkpoint(std::span<const std::string> arguments);

}  // namespace starling::daemon
