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
  greets,        // speaks first, as the ports of a node for other nodes do (ZMTP)
  silent,        // accepts and says nothing
  other,         // says something else
  refused,       // no process listens there
  unanswered,    // nothing comes back: the host is gone, or a firewall drops what goes there
  unreachable,   // no way there
  unknown_name,  // of the host
  slow_names,    // the name server does not answer
};

enum class Awaited {
  connection,  // an open port is silent at once
  greeting,    // it is silent when nothing came in time
};

inline constexpr std::size_t kProbedPortsLimit = 256;

// The state of each, in their order. All are probed at the same time; looking up names takes
// `patience` at most, and connecting and waiting as much again. REQUIRES kProbedPortsLimit at most.
std::vector<PortState> probe_ports(std::span<const Endpoint> endpoints, Awaited awaited,
                                   std::chrono::milliseconds patience);

}  // namespace starling::daemon
