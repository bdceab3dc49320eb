// Overheard: what a child writes to its standard error, passed on to that of this process, with the
// last line kept.
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

  // REQUIRES that it has not been called. Until then nothing is heard.
  Result<void> open();
  // What a child writes there is heard; -1 before open().
  int descriptor() const { return writes_.number(); }
  // The last line since the last call, of all that was written before this one. Any thread.
  std::string take_last_line();

 private:
  void pass_on();

  OpenFile reads_, writes_;
  std::mutex mutex_;
  LastLine line_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
