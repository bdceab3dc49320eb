// PeerKeeper: saves the addresses of the node's peers, in a thread of its own, so that no disk
// delays the loop. It reads the board several times a second and writes only changes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "daemon/process/board.h"
#include "daemon/process/disk_state.h"

namespace starling::daemon {

// The live members, then those kept before, which may return, except members that left.
std::vector<Endpoint> peers_to_keep(std::span<const gossip::MemberStatus> members,
                                    std::span<const Endpoint> kept);

class PeerKeeper {
 public:
  // `board` must outlive it. The destructor saves once more.
  PeerKeeper(DiskState state, Board& board);

 private:
  void run(const std::stop_token& stop);
  void keep();

  DiskState state_;
  Board& board_;
  bool failed_ = false;  // the last save, which was logged
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
