// GzFile: a file for reading, gzip or plain, detected when read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace starling::models {

class GzFile {
 public:
  static Result<GzFile> open(const std::string& path);

  // Fills `out` up to the end of the file; returns the number of bytes read.
  Result<std::size_t> read(std::span<std::byte> out);
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };
  GzFile(std::string path, void* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<void, Close> file_;
};

inline constexpr std::size_t kTextBytesLimit = std::size_t{4} << 30;  // of a text file, unpacked

// The whole file as one text.
Result<std::string> read_text(const std::string& path);

// Takes the next line off `text`, without its end of line, and moves `text` past it.
std::string_view take_line(std::string_view& text);

}  // namespace starling::models
