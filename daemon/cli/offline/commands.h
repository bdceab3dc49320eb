// The commands that need no running node.
#pragma once

#include "base/command_line.h"
#include "base/result.h"

namespace starling::daemon {

extern const ProgramCommand kPlan, kData, kPredict, kEvaluate, kConfig;

// What starling plan prints.
Result<std::string> plan_text(const CommandLine& line);

}  // namespace starling::daemon
