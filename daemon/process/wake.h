// Wake: a descriptor that becomes readable when another thread, or a signal handler, says so.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

namespace starling::daemon {

class Wake {
 public:
  Wake() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    ENSURE(descriptor_ >= 0, "an eventfd can be had");
  }
  ~Wake() { ::close(descriptor_); }
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  // Any thread; async-signal-safe.
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof(one));
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof(count));
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace starling::daemon
