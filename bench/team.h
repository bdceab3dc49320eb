// Team: child processes that work together, started before this process has threads. Each has a
// pipe in both directions to the parent, for orders and answers.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "base/check.h"

namespace starling::bench {

// False when the other end is closed.
inline bool read_all(int descriptor, void* data, std::size_t size) {
  auto* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = ::read(descriptor, to, size);
    if (count == 0) return false;
    ENSURE(count > 0, "a descriptor can be read");
    to += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

inline void write_all(int descriptor, const void* data, std::size_t size) {
  const auto* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(descriptor, from, size);
    ENSURE(count > 0, "a descriptor can be written");
    from += count;
    size -= static_cast<std::size_t>(count);
  }
}

template <class T>
T read_value(int descriptor) {
  T value;
  ENSURE(read_all(descriptor, &value, sizeof(value)), "the other end is still there");
  return value;
}

template <class T>
void write_value(int descriptor, const T& value) {
  write_all(descriptor, &value, sizeof(value));
}

class Team {
 public:
  // Runs `work(rank, descriptor)` in `size` children, whose process ends with it.
  Team(std::size_t size, const std::function<void(std::size_t, int)>& work) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      int ends[2];
      ENSURE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair can be had");
      const pid_t child = ::fork();
      ENSURE(child >= 0, "a process can be started");
      if (child == 0) {
        for (int other : descriptors_) ::close(other);
        ::close(ends[0]);
        work(rank, ends[1]);
        ::_exit(0);
      }
      ::close(ends[1]);
      descriptors_.push_back(ends[0]);
    }
  }
  // Closes the pipes, which tells the children to end, and waits for them.
  ~Team() {
    for (int descriptor : descriptors_) ::close(descriptor);
    while (::wait(nullptr) > 0) {
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return descriptors_.size(); }
  int descriptor(std::size_t rank) const { return descriptors_[rank]; }

  template <class T>
  void tell_all(const T& value) const {
    for (int descriptor : descriptors_) write_value(descriptor, value);
  }

 private:
  std::vector<int> descriptors_;
};

}  // namespace starling::bench
