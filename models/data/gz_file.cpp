#include "models/data/gz_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace starling::models {
namespace {

constexpr unsigned kBufferBytes = 256 * 1024;
constexpr std::size_t kLeastStepBytes = 64 * 1024;
constexpr std::size_t kMostStepBytes = std::size_t{64} << 20;
constexpr std::size_t kReadBytes = std::size_t{1} << 30;  // gzread takes an unsigned

}  // namespace

void GzFile::Close::operator()(void* file) const {
  gzclose(static_cast<gzFile>(file));
}

Result<GzFile> GzFile::open(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail("{}: is a directory, expected a file", path);
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return fail("{}: {}", path, errno ? std::strerror(errno) : "not enough memory");
  gzbuffer(file, kBufferBytes);
  return GzFile(path, file);
}

Result<std::size_t> GzFile::read(std::span<std::byte> out) {
  auto* const handle = static_cast<gzFile>(file_.get());
  std::size_t done = 0;
  while (done < out.size()) {
    const auto wanted = static_cast<unsigned>(std::min(out.size() - done, kReadBytes));
    const int got = gzread(handle, out.data() + done, wanted);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
      continue;
    }
    // zlib reports a truncated gzip stream only after the last byte was read.
    int code = Z_OK;
    const char* reason = gzerror(handle, &code);
    if (code != Z_OK && code != Z_STREAM_END)
      return fail("{}: damaged after {} bytes: {}", path_, done,
                  code == Z_ERRNO ? std::strerror(errno) : reason);
    break;
  }
  return done;
}

Result<std::string> read_text(const std::string& path) {
  TRY(GzFile file, GzFile::open(path));
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    const std::size_t step = std::clamp(before, kLeastStepBytes, kMostStepBytes);
    text.resize(before + step);
    TRY(const std::size_t got, file.read(std::as_writable_bytes(std::span(text).subspan(before))));
    text.resize(before + got);
    if (text.size() > kTextBytesLimit)
      return fail("{}: more than {} bytes, the most a text may have", path, kTextBytesLimit);
    if (got < step) return text;
  }
}

std::string_view take_line(std::string_view& text) {
  const std::size_t stop = text.find('\n');
  std::string_view line = text.substr(0, stop);
  text.remove_prefix(stop == std::string_view::npos ? text.size() : stop + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace starling::models
