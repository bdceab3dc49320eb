// SocketConnect: a socket that connects to a numeric address without blocking.
#pragma once

#include <netdb.h>

#include <memory>

#include "base/endpoint.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// An address in the system's form, for sockets of that type; null if the host is a name.
using SystemAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
SystemAddress numeric_address(const Endpoint& at, int socket_type);

struct SocketConnect {
  OpenFile socket = OpenFile();  // non-blocking; none if the system gave none
  int error = 0;                 // 0: connected; EINPROGRESS: connecting
};
// REQUIRES a host that is an address.
SocketConnect begin_connect(const Endpoint& to);
// The error of an EINPROGRESS connection once its socket is writable; 0: connected.
int connect_error(const OpenFile& socket);

}  // namespace starling::daemon
