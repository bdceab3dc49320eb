// TrainerDoor: the connections to the socket of a node that have not said hello. It accepts those
// of processes of this user, and hands on each with its first record.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/attach/record_socket.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// In the environment of the trainers that the daemon starts: in which of its lives.
inline constexpr char kLifeVariable[] = "STARLING_LIFE";

// Tells the process at the other end why it may not attach.
void turn_away(const OpenFile& socket, const std::string& reason);

// One thread.
class TrainerDoor {
 public:
  struct Caller {
    OpenFile socket;
    pid_t process = 0;
    HeardRecord first = {};
  };

  // `life`: that of this daemon, where it starts its trainer; empty: it does not.
  TrainerDoor(OpenFile listener, std::string life)
      : listener_(std::move(listener)), life_(std::move(life)) {}

  // Appends the door's own descriptors to the items and waits for an event at one of them, at most
  // half a second.
  void wait_with(std::vector<pollfd>& items) const;
  // Accepts a connection, turns away those that wait too long, and returns the callers whose first
  // record has come. REQUIRES the items of the last wait.
  std::vector<Caller> look(std::span<const pollfd> items);

 private:
  struct Visitor {
    OpenFile socket;
    pid_t process = 0;
    std::chrono::steady_clock::time_point until;
  };
  void accept_one();
  void drop_late_visitors();

  OpenFile listener_;
  std::string life_;
  std::vector<Visitor> visitors_;
};

}  // namespace starling::daemon
