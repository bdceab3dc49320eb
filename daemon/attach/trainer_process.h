// TrainerProcess: the command of the user that trains, started by the daemon and started again when
// it fails. A process that the daemon did not start is never ended by it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace starling::daemon {

class TrainerProcess {
 public:
  // Runs `command` by /bin/sh, with STARLING_SOCKET and STARLING_NODE in its environment, its
  // output going where this process writes its errors. `on_success` is called in a thread of its
  // own when the command ends with exit code 0; any other end starts it again, a little later each
  // time. At its end it waits for the command to end by itself, asks it and what it started to end
  // where that takes too long, and ends it where that does too.
  TrainerProcess(std::string command, const std::string& socket, const std::string& node,
                 std::function<void()> on_success);

  // The command has ended with exit code 0. Any thread.
  bool has_succeeded() const { return has_succeeded_; }

 private:
  void run(const std::stop_token& stop);

  std::string command_;
  std::vector<std::string> arguments_;
  std::function<void()> on_success_;
  std::atomic<bool> has_succeeded_ = false;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
