// Port probe: whether a process listens at an address, and whether it greets like a node. Sends
// nothing, so that a listener sees only a connection that comes and goes.
#pragma once

#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "base/endpoint.h"

namespace starling::daemon {

enum class PortState {
  greets,        // sends first, as the ports of a node for other nodes do (ZMTP)
  silent,        // accepts and sends nothing
  other,         // sends something else
  refused,       // no process listens there
  unanswered,    // no answer: the host is gone, or a firewall drops the packets to it
  unreachable,   // no route
  unknown_name,  // the host name has no address
  slow_names,    // the name server does not answer
};

enum class Awaited {
  connection,  // an open port counts as silent at once
  greeting,    // an open port counts as silent once `patience` has passed without a byte
};

inline constexpr std::size_t kProbedPortsLimit = 256;

// The state of each, in their order. All are probed at the same time; look-ups of names take
// `patience` at most, and connecting and waiting as much again. REQUIRES kProbedPortsLimit at most.
std::vector<PortState> probe_ports(std::span<const Endpoint> endpoints, Awaited awaited,
                                   std::chrono::milliseconds patience);

}  // namespace starling::daemon
