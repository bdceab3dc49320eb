#include "daemon/process/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "daemon/process/open_file.h"
#include "daemon/process/whole_file.h"

namespace starling::daemon {
namespace {

// Renames a file to a name that must be free. Some file systems support only one of the two calls.
bool give_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::link(from.c_str(), to.c_str()) == 0;
}

// Reads until the buffer is full or the file ends.
Result<std::size_t> fill(int file, const std::string& name, std::span<std::byte> bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = ::read(file, bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("cannot read {}: {}", name, std::strerror(errno));
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  return have;
}

Result<void> check_mode(const std::string& path, mode_t mode) {
  if ((mode & 077) == 0) return {};
  return fail(
      "{} holds a secret, and its mode {:04o} lets others at it; expected 0600: chmod 600 {}", path,
      mode & 07777, path);
}

// Reads the file if `check`(its mode) succeeds.
template <class Check>
Result<Secret> read_secret(const std::string& path, std::size_t limit, const Check& check) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.number(), &info) != 0)
    return fail("cannot read {}: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return fail("{} is no ordinary file", path);
  TRY_DO(check(info.st_mode));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit) return fail("{} has {} bytes; expected at most {}", path, size, limit);
  Secret bytes(size);
  TRY(const std::size_t have, fill(file.number(), path, bytes.bytes()));
  if (have < size) return fail("{} ends at byte {} of {}", path, have, size);
  return bytes;
}

Result<Secret> read_input(std::size_t limit) {
  Secret buffer(limit + 1);
  TRY(const std::size_t size, fill(STDIN_FILENO, "standard input", buffer.bytes()));
  if (size > limit) return fail("standard input has more than {} bytes", limit);
  return copy_secret(buffer.bytes().first(size));
}

}  // namespace

Result<void> write_private_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = path + ".new-" + std::to_string(::getpid());
  auto written = write_file(beside, Payload(nullptr, bytes));
  if (written && !give_name(beside, path)) {
    if (errno == EEXIST)
      written = fail("{} is there already, and is not written over", path);
    else
      written = fail("cannot write {}: {}", path, std::strerror(errno));
  }
  ::unlink(beside.c_str());
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (written) (void)sync_folder(folder.empty() ? "." : folder);
  return written;
}

Result<void> check_private(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return fail("cannot read {}: {}", path, std::strerror(errno));
  return check_mode(path, info.st_mode);
}

Result<Secret> read_private_file(const std::string& path, std::size_t limit) {
  return read_secret(path, limit, [&path](mode_t mode) { return check_mode(path, mode); });
}

Result<Secret> read_as_secret(const std::string& path, std::size_t limit) {
  if (path == "-") return read_input(limit);
  return read_secret(path, limit, [](mode_t) { return Result<void>(); });
}

}  // namespace starling::daemon
