// The commands for running nodes. Exit codes: 0 done, 1 refused or failed at a node, 2 wrong usage,
// 4 no node answers.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

extern const ProgramCommand kStatus, kFleet, kMembers, kNeighbors, kTopology, kConvergence, kEvents,
    kTrace, kSet, kJoin, kLeave, kStop, kPause, kResume;
extern const ProgramCommand kExport, kDoctor, kCheckpoint;

}  // namespace starling::daemon
