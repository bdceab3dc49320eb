// starling predict and starling evaluate: a model's file on a table.
#pragma once

#include <span>
#include <string>

namespace starling::daemon {

int command_predict(std::span<const std::string> arguments);
int command_evaluate(std::span<const std::string> arguments);

}  // namespace starling::daemon
