#include "daemon/process/socket_connect.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/check.h"

namespace starling::daemon {

SystemAddress numeric_address(const Endpoint& at, int socket_type) {
  addrinfo hints{};
  hints.ai_socktype = socket_type;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

SocketConnect begin_connect(const Endpoint& to) {
  const SystemAddress address = numeric_address(to, SOCK_STREAM);
  ENSURE(address, "only an address is connected to");
  OpenFile socket(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool is_made =
      socket && ::connect(socket.number(), address->ai_addr, address->ai_addrlen) == 0;
  return {std::move(socket), is_made ? 0 : errno};
}

int connect_error(const OpenFile& socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace starling::daemon
