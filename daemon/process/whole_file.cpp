#include "daemon/process/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace starling::daemon {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// On the disk when it returns true; errno says why not.
bool write_and_sync(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return false;
  // What is no file on a disk cannot be synced.
  const bool written = write_all(file, text) && (::fsync(file) == 0 || errno == EINVAL);
  const int error = errno;
  ::close(file);
  errno = error;
  return written;
}

// A new name in a folder lasts once the folder is synced.
void sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  struct stat info {};
  const bool is_special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string beside = is_special ? path : path + ".new";
  const bool written = write_and_sync(beside, bytes) &&
                       (is_special || std::rename(beside.c_str(), path.c_str()) == 0);
  if (!written) {
    const int error = errno;
    if (!is_special) ::unlink(beside.c_str());
    return fail("cannot write {}: {}", path, std::strerror(error));
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!is_special) sync_folder(folder.empty() ? "." : folder);
  return {};
}

}  // namespace starling::daemon
