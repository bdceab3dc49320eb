#include "daemon/attach/record_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/attach/records.h"

namespace starling::daemon {
namespace {

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

OpenFile new_socket() {
  return OpenFile(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Whether a process listens there.
bool is_answered(const sockaddr_un& address) {
  const OpenFile socket = new_socket();
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
             0 ||
         errno == EAGAIN;
}

bool bind_at(const OpenFile& socket, const sockaddr_un& address) {
  return ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

// Closes all but the first.
OpenFile first_file(const msghdr& message) {
  OpenFile first;
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t k = 0; k < count; ++k) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + k * sizeof(int), sizeof(int));
      OpenFile file(descriptor);
      if (!first) first = std::move(file);
    }
  }
  return first;
}

}  // namespace

Outcome<OpenFile> listen_at(const std::string& path) {
  const auto address = address_of(path);
  if (!address)
    return complaint(kExitWrongUsage, "trainer.socket = \"{}\" has {} bytes; expected at most {}",
                     path, path.size(), sizeof(sockaddr_un::sun_path) - 1);
  const auto refused = [&](const char* reason, int code = kExitWrongUsage) {
    return complaint(code, "trainer.socket = \"{}\": {}", path, reason);
  };
  OpenFile socket = new_socket();
  bool is_bound = socket && bind_at(socket, *address);
  if (socket && !is_bound && errno == EADDRINUSE) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode))
      return refused("something else is there");
    if (is_answered(*address)) return refused("another daemon listens there", kExitFailed);
    ::unlink(path.c_str());
    is_bound = bind_at(socket, *address);
  }
  if (!is_bound || ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.number(), 8) != 0)
    return refused(std::strerror(errno));
  return socket;
}

std::optional<pid_t> process_behind(int socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  if (credentials.uid != ::geteuid()) return std::nullopt;
  return credentials.pid;
}

HeardRecord hear_record(int socket) {
  HeardRecord heard;
  heard.text.resize(kRecordBytesLimit);
  iovec place{heard.text.data(), heard.text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  heard.nothing = count < 0 && (errno == EAGAIN || errno == EINTR);
  heard.ended = count == 0 || (count < 0 && !heard.nothing);
  heard.text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count < 0) return heard;
  heard.file = first_file(message);
  heard.too_long = (message.msg_flags & MSG_TRUNC) != 0;
  return heard;
}

bool send_record(int socket, const std::string& record, int descriptor) {
  iovec place{const_cast<char*>(record.data()), record.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(record.size());
}

}  // namespace starling::daemon
