// OpenFile: a descriptor that closes itself; errno stays as it was.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace starling::daemon {

class OpenFile {
 public:
  // Takes over the descriptor; below 0: none.
  explicit OpenFile(int number = -1) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OpenFile() {
    const int error = errno;
    if (number_ >= 0) ::close(number_);
    errno = error;
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // The caller must close it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace starling::daemon
