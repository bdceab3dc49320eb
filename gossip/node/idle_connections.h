// IdleConnections: which control connections the driver may close. A node pings all members in
// turn, and a connection that stays open takes some 50 KiB at either end; so in a large fleet a
// node keeps those that it used last.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class IdleConnections {
 public:
  // Follows what the node sends, and hangs up. REQUIRES that this node can be dialled: otherwise
  // others reach it over the connections that it keeps.
  void follow(Time now, std::span<const Output> sent, Outbox& out);

 private:
  struct Used {
    NodeId peer;
    Time last{};
  };
  // Larger: more memory and descriptors. Smaller: a node of a fleet of that size dials more often.
  static constexpr std::size_t kKept = 4;
  // A connection that was used later is never closed: it may still be dialled.
  static constexpr Duration kIdle = std::chrono::seconds(3);

  void use(Time now, NodeId peer);

  std::deque<Used> used_;  // that which was used longest ago first
};

}  // namespace starling::gossip
