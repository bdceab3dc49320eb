// TrainerProcess: the user's training command, which the daemon starts, and restarts when it fails.
// The daemon never ends a process that it did not start.
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
  // Runs `command` by /bin/sh, with STARLING_SOCKET and STARLING_NODE in its environment, with its
  // output to this process's standard error. `on_success` is called in a thread of its own when the
  // command ends with exit code 0; after any other end it is restarted, a little later each time.
  // The destructor waits for the command to end by itself; if that takes too long it asks the
  // command and its children to end, and finally kills them.
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
