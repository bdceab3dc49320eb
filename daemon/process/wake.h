// Wake: a descriptor that another thread, or a signal handler, makes readable.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

class Wake {
 public:
  Wake() : file_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    ENSURE(file_, "an eventfd can be had");
  }

  // Any thread; async-signal-safe.
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(file_.number(), &one, sizeof(one));
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(file_.number(), &count, sizeof(count));
  }
  int descriptor() const { return file_.number(); }

 private:
  OpenFile file_;
};

}  // namespace starling::daemon
