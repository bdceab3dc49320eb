// Records over a unix socket of type SOCK_SEQPACKET, each with at most one file beside it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/command_line.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// A socket that listens; a dead process's socket at the path is replaced. Only the user of this
// process may connect, and the path exists before any process can. The error names trainer.socket;
// another daemon there is kExitFailed.
Outcome<OpenFile> listen_at(const std::string& path);

// The process at the other end; nothing if it belongs to another user.
std::optional<pid_t> process_behind(int socket);

// A received record. Nothing: none yet; `ended`: no more will come.
struct HeardRecord {
  std::string text = {};
  OpenFile file = OpenFile();  // that came with it, if one did
  bool ended = false, nothing = false, too_long = false;
};
// Does not wait.
HeardRecord hear_record(int socket);

// False: it was not sent. Does not wait; `descriptor` is that of a file, or -1.
bool send_record(int socket, const std::string& record, int descriptor = -1);

}  // namespace starling::daemon
