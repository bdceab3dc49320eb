// The commands that ask or tell running nodes. They end with 0 done, 1 refused by a node, or
// something failed there, 2 wrong usage, 4 no node answers.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

extern const ProgramCommand kStatus, kFleet, kMembers, kNeighbors, kTopology, kConvergence, kEvents,
    kTrace, kJoin, kLeave, kPause, kResume;
extern const ProgramCommand kExport, kDoctor, kCheckpoint;

}  // namespace starling::daemon
