// TemporaryFolder: a folder that goes away with the test; in memory where the system has /dev/shm.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/check.h"

namespace starling::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    const bool has_memory = std::filesystem::is_directory("/dev/shm", none);
    path_ = has_memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string();
    path_ += "/starling-XXXXXX";
    ENSURE(::mkdtemp(path_.data()), "a temporary folder can be made");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file of that name, for its owner only; returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    const std::string path = *this / name;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool is_written = file >= 0 && ::write(file, bytes.data(), bytes.size()) ==
                                             static_cast<ssize_t>(bytes.size());
    ::close(file);
    ENSURE(is_written, "a file can be written");
    return path;
  }

 private:
  std::string path_;
};

}  // namespace starling::test
