// Connection: a socket that connects to a numeric address without blocking.
#pragma once

#include <netdb.h>

#include <memory>

#include "base/endpoint.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// An address as the system takes it, for sockets of that type; null if the host is a name.
using SystemAddress = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
SystemAddress numeric_address(const Endpoint& at, int socket_type);

struct Connection {
  OpenFile socket = OpenFile();  // does not block; none where the system gives none
  int error = 0;                 // 0: it is made; EINPROGRESS: it is being made
};
// REQUIRES a host that is an address.
Connection begin_connection(const Endpoint& to);
// Of a connection that was being made, once its socket can be written to; 0: it is made.
int connection_error(const OpenFile& socket);

}  // namespace starling::daemon
