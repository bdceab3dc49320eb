// Overheard: passes on what a child writes to its standard error to that of this process, and keeps
// the last line.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// Finds the last line with a visible character in bytes that come in pieces. A carriage return ends
// a line too: progress bars are drawn over with it.
class LastLine {
 public:
  void add(std::string_view bytes);
  // Printable UTF-8, of at most kBytesLimit bytes; empty: no line so far.
  std::string text() const;

  static constexpr std::size_t kBytesLimit = 300;

 private:
  void end_line();

  std::string open_, last_;
};

class Overheard {
 public:
  Overheard() = default;
  Overheard(const Overheard&) = delete;

  // Makes the pipe that the child writes to. REQUIRES that it is called once.
  Result<void> open();
  // The child's end of the pipe; -1 before open().
  int descriptor() const { return writes_.number(); }
  // The last line written since the last call. Any thread.
  std::string take_last_line();

 private:
  void pass_on();

  OpenFile reads_, writes_;
  std::mutex mutex_;
  LastLine line_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
