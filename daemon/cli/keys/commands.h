// The commands that make keys, certificates, tickets and revocations. None asks a node, and none
// prints a secret but `invite`, whose ticket is one.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

extern const ProgramCommand kKeygen, kInvite, kRevoke;

}  // namespace starling::daemon
