// ChildProcess: a program, started with arguments. It ends with its parent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// "exit code 1" or "signal 9", of what exit_code() gives.
std::string describe_exit(int code);

class ChildProcess {
 public:
  // Starts `arguments` (the program first), with its output to the file `log_path`; empty: to the
  // standard error of this process. Its own standard error goes to the descriptor `errors`; below
  // 0: to where its output goes. With a log, ready() reads what the child writes to
  // kReadyDescriptor. It inherits no other descriptor of this process: processes that the child
  // leaves behind would keep ports in use.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                    const std::string& log_path, int errors = -1);
  static constexpr int kReadyDescriptor = 3;

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills it if it still runs.
  ~ChildProcess();

  // The first line the child writes to kReadyDescriptor; nothing if it ends without one, or
  // `gives_up` returns true.
  std::optional<std::string> ready(std::chrono::milliseconds patience,
                                   const std::function<bool()>& gives_up = {});
  bool running();
  // The exit code of a child that has ended, or 128 + the signal.
  std::optional<int> exit_code() const { return exit_code_; }
  void signal(int number) const;
  // Waits for the end of the child; false if that has not come in time.
  bool wait(std::chrono::milliseconds patience);
  pid_t pid() const { return pid_; }
  const std::string& log_path() const { return log_path_; }

 private:
  ChildProcess(pid_t pid, OpenFile ready, std::string log_path)
      : pid_(pid), ready_(std::move(ready)), log_path_(std::move(log_path)) {}

  pid_t pid_;
  OpenFile ready_;
  std::string log_path_;
  std::optional<int> exit_code_;
};

}  // namespace starling::daemon
