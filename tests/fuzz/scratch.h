// ScratchFolder: files for parsers that open paths; in memory where the system has /dev/shm. One
// for each process.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/check.h"
#include "tests/fuzz/target.h"

namespace starling::fuzz {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code none;
    const bool has_memory = std::filesystem::is_directory("/dev/shm", none);
    path_ = has_memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string();
    path_ += "/starling-fuzz-XXXXXX";
    ENSURE(::mkdtemp(path_.data()), "a folder for files can be made");
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  // Writes a file of that name, for its owner only; returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = path_ + "/" + name;
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

}  // namespace starling::fuzz
