#include "daemon/process/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "daemon/process/open_file.h"

namespace starling::daemon {
namespace {

tl::unexpected<Error> cannot(const char* what, const std::string& path) {
  return fail("cannot {} {}: {}", what, path, std::strerror(errno));
}

// EINVAL: a special file, or a folder of some file systems, cannot be synced.
bool sync(const OpenFile& file) {
  return ::fsync(file.number()) == 0 || errno == EINVAL;
}

// A named pipe without a reader is an error, not a wait.
OpenFile open_to_write(const std::string& path, int flags, mode_t mode) {
  OpenFile file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | flags, mode));
  if (file) ::fcntl(file.number(), F_SETFL, 0);
  return file;
}

// True: the bytes are on the disk; false: errno says why not.
bool write_and_sync(const OpenFile& file, const Payload& bytes) {
  return file && write_all(file.number(), bytes) && sync(file);
}

}  // namespace

bool write_all(int file, const Payload& bytes) {
  for (const Payload::Piece& piece : bytes.pieces())
    for (std::span<const std::byte> left = piece.bytes; !left.empty();) {
      const ssize_t written = ::write(file, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      left = left.subspan(static_cast<std::size_t>(written));
    }
  return true;
}

Result<void> write_file(const std::string& path, const Payload& bytes) {
  if (!write_and_sync(open_to_write(path, O_CREAT | O_EXCL, 0600), bytes))
    return cannot("write", path);
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  const Payload content(nullptr, std::as_bytes(std::span(bytes)));
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (!write_and_sync(open_to_write(path, 0, 0), content)) return cannot("write", path);
    return {};
  }
  const std::string beside = path + ".new";
  if (!write_and_sync(open_to_write(beside, O_CREAT | O_TRUNC, 0644), content) ||
      std::rename(beside.c_str(), path.c_str()) != 0) {
    const auto problem = cannot("write", path);
    ::unlink(beside.c_str());
    return problem;
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  (void)sync_folder(folder.empty() ? "." : folder);  // the bytes are there, under one name
  return {};
}

Result<void> sync_folder(const std::string& path) {
  const OpenFile folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || !sync(folder)) return cannot("sync", path);
  return {};
}

Result<std::optional<Payload>> read_file(const std::string& path, std::size_t limit) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat info {};
  if (!file || ::fstat(file.number(), &info) != 0) return cannot("read", path);
  if (!S_ISREG(info.st_mode)) return fail("{} is no ordinary file", path);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit) return fail("{} has {} bytes; expected at most {}", path, size, limit);
  const auto bytes = std::shared_ptr<std::byte[]>(new std::byte[size]);
  for (std::size_t have = 0; have < size;) {
    const ssize_t count = ::read(file.number(), bytes.get() + have, size - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", path);
    if (count == 0) return fail("{} ends at byte {} of {}", path, have, size);
    have += static_cast<std::size_t>(count);
  }
  return Payload(bytes, std::span<const std::byte>(bytes.get(), size));
}

std::string as_text(const Payload& bytes) {
  std::string text(bytes.size(), '\0');
  bytes.copy_to(0, std::as_writable_bytes(std::span(text)));
  return text;
}

Payload as_payload(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return Payload(owner, std::as_bytes(std::span(*owner)));
}

}  // namespace starling::daemon
