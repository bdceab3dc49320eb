#include "gossip/node/idle_connections.h"

#include <algorithm>

namespace starling::gossip {

void IdleConnections::follow(Time now, std::span<const Output> sent, Outbox& out) {
  for (const Output& output : sent)
    if (const auto* send = std::get_if<Send>(&output))
      if (kind_of(send->message.body).plane == Plane::control) use(now, send->to);
  while (used_.size() > kKept && now - used_.front().last > kIdle) {
    out.put(Hangup{used_.front().peer, Plane::control});
    used_.pop_front();
  }
}

void IdleConnections::use(Time now, NodeId peer) {
  const auto known = std::ranges::find(used_, peer, &Used::peer);
  if (known != used_.end()) used_.erase(known);
  used_.push_back({peer, now});
}

}  // namespace starling::gossip
