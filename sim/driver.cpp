#include "sim/driver.h"

#include <algorithm>
#include <utility>

#include "gossip/wire/connection_rules.h"

namespace starling::sim {
namespace {

// As many connections as a process has where its system allows them.
constexpr gossip::Connections::Limits kLimits{4096, 8192};

}  // namespace

Driver::Driver(Wires& wires, std::size_t node, NodeId self, Time now)
    : wires_(&wires),
      node_(node),
      guard_(self, nullptr, [] { return 0; }),
      queues_(wires.wire(node), guard_, self, kLimits),
      next_look_(now + gossip::kWatchEvery) {}

// ---------------------------------------------------------------- what the node asks for

void Driver::reach(Time now, const gossip::Reach& reach) {
  const auto node = wires_->find(reach.contact.control);
  if (!reach.contact.name.empty() && node) {
    contacts_[reach.node] = *node;
    return;
  }
  contacts_.erase(reach.node);
  queues_.reach(now, reach.node, std::nullopt);
}

void Driver::hang_up(Time now, const gossip::Hangup& hangup) {
  queues_.hang_up(now, hangup.from, hangup.plane);
  settle(now);
}

void Driver::abandon(Time now, const gossip::Abandon& abandon) {
  queues_.hang_up(now, gossip::Transport::Address{abandon.at}, gossip::Plane::control);
  settle(now);
}

std::optional<std::size_t> Driver::find(NodeId peer) const {
  const auto found = contacts_.find(peer);
  return found == contacts_.end() ? std::nullopt : std::optional(found->second);
}

void Driver::send(Time now, NodeId to, Parcel parcel) {
  const gossip::MessageKind& kind = gossip::kind_of(parcel.message.body);
  queues_.reach(now, to, address(parcel.hop.to));
  if (kind.invites_vectors) queues_.open(now, to, gossip::Plane::bulk);
  queues_.send(now, to, kind.plane,
               cutter_.cut(std::move(parcel.message), parcel.from, wires_->chunk_bytes()));
  settle(now);
}

void Driver::introduce(Time now, const gossip::Introduce& introduce, Parcel parcel) {
  const auto frames = [&] { return cutter_.cut(gossip::Message(parcel.message)); };
  if (!introduce.asker || !queues_.answer(*introduce.asker, frames()))
    queues_.send(now, address(parcel.hop.to), gossip::Plane::control, frames());
  settle(now);
}

// ---------------------------------------------------------------- what comes

void Driver::follow(Time now) {
  queues_.follow(now);
  for (const auto socket : gossip::Wire::kSockets) queues_.all_read(socket);
  settle(now);
}

std::optional<gossip::Received> Driver::hear(Time now, gossip::Wire::Arrived arrived) {
  if (const gossip::Connection* from = queues_.hear(arrived, now))
    return gossip::Received{from->plane, *from->peer, arrived.header, std::move(arrived.payload)};
  follow(now);
  return std::nullopt;
}

void Driver::look(Time now) {
  if (now >= next_look_) {
    next_look_ = now + gossip::kWatchEvery;
    queues_.look(now);
  }
  if (queues_.has_queued() || wires_->has_events(node_)) follow(now);
}

// Closing a connection may leave an event.
void Driver::settle(Time now) {
  while (wires_->has_events(node_)) queues_.follow(now);
}

}  // namespace starling::sim
