#include "gossip/transport/peer_queues.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "gossip/transport/greeting.h"
#include "gossip/wire/connection_rules.h"

namespace starling::gossip {
namespace {

bool can_dial(const PeerQueues::Address& to, const Guard& guard) {
  return to.at.port != 0 && (to.key || !guard.key());
}

}  // namespace

PeerQueues::Key PeerQueues::key_of(const Target& target, Plane plane) {
  if (const auto* node = std::get_if<NodeId>(&target)) return {plane, *node};
  const Endpoint& at = std::get<Address>(target).at;
  return {plane, std::pair(at.host, at.port)};
}

PeerQueues::PeerQueue& PeerQueues::queue_of(const Key& key) {
  const auto [found, is_new] = queues_.try_emplace(key, key.plane);
  if (is_new && is_reached(key)) found->second.to = reached_.at(std::get<NodeId>(key.whom));
  return found->second;
}

bool PeerQueues::is_reached(const Key& key) const {
  const auto* node = std::get_if<NodeId>(&key.whom);
  return node && reached_.contains(*node);
}

void PeerQueues::reach(Time now, NodeId node, const std::optional<Address>& at) {
  if (!at) return forget(now, node);
  reached_[node] = *at;
  for (const Plane plane : kPlanes)
    if (const auto found = queues_.find({plane, node}); found != queues_.end())
      move(found->second, *at);
}

void PeerQueues::move(PeerQueue& queue, const Address& to) {
  const bool is_moved = std::exchange(queue.to, to).at != to.at && to.at.port != 0;
  if (!is_moved || !queue.via || !queue.via->is_dialled()) return;
  const Connection* connection = connections_.find(*queue.via);
  if (!connection || connection->at == to.at) return;
  const Route before = *queue.via;
  connections_.close(before, closed());
}

std::optional<PeerQueues::Address> PeerQueues::dialled(NodeId node) {
  const auto route = connections_.with(node, Plane::control);
  if (!route || !route->is_dialled()) return std::nullopt;
  const Connection& connection = *connections_.find(*route);
  return Address{connection.at, connection.key};
}

void PeerQueues::open(Time now, NodeId node, Plane plane) {
  const Key key{plane, node};
  if (!is_reached(key)) return;
  PeerQueue& queue = queue_of(key);
  if (!queue.via) queue.via = connections_.with(node, plane);
  if (!queue.via) dial(key, queue, now);
}

void PeerQueues::forget(Time now, NodeId node) {
  reached_.erase(node);
  for (const Plane plane : kPlanes) {
    hang_up(now, Key{plane, node});
    const auto found = queues_.find({plane, node});
    if (found == queues_.end()) continue;
    if (found->second.via)
      found->second.to = {};
    else
      queues_.erase(found);
  }
}

void PeerQueues::send(Time now, const Target& to, Plane plane, Frames frames) {
  const Key key = key_of(to, plane);
  const auto* address = std::get_if<Address>(&to);
  const bool is_known = address ? address->at.port != 0 : is_reached(key) || queues_.contains(key);
  if (!is_known) return void(++dropped_);
  PeerQueue& queue = queue_of(key);
  if (address) queue.to = *address;
  dropped_ += queue.waiting.push(std::move(frames));
  busy_.insert(key);
  attend(key, now);
}

Connections::Looked PeerQueues::look(Time now) {
  Connections::Looked looked = connections_.look(now, closed());
  for (const NodeId peer : connections_.take_cut()) renew_bulk(peer, now);
  for (auto& [key, queue] : queues_)
    if (queue.via && queue.next) change(queue, *queue.next, now);
  return looked;
}

void PeerQueues::renew_bulk(NodeId peer, Time now) {
  const auto found = queues_.find({Plane::bulk, peer});
  if (found == queues_.end() || !is_reached(found->first)) return;
  const std::optional<Route> via = found->second.via;
  if (via && !connections_.is_idle(*via)) return;
  if (via) connections_.close(*via, closed());
  if (!found->second.via) dial(found->first, found->second, now);
}

bool PeerQueues::answer(NodeId to, Frames frames) {
  const auto route = connections_.with(to, Plane::control);
  if (!route) return false;
  bool sent_header = false;
  dropped_ += wire_.send(*route, frames.next(), sent_header) != Wire::Sent::whole;
  return true;
}

void PeerQueues::hang_up(Time now, const Target& from, Plane plane) {
  const Key key = key_of(from, plane);
  const auto* address = std::get_if<Address>(&from);
  if (!address) return hang_up(now, key);
  busy_.erase(key);
  queues_.erase(key);
  const auto route = connections_.dialled_to(address->at, plane);
  const bool is_used = std::ranges::any_of(
      queues_, [&](const auto& item) { return route && item.second.via == *route; });
  if (route && !is_used) connections_.close_soon(*route, now, kConnectionLinger);
}

void PeerQueues::hang_up(Time now, const Key& node) {
  const auto found = queues_.find(node);
  if (found == queues_.end()) return;
  PeerQueue& queue = found->second;
  dropped_ += queue.waiting.clear();
  busy_.erase(node);
  queue.next.reset();
  if (queue.via && queue.via->is_dialled())
    connections_.close_soon(*std::exchange(queue.via, std::nullopt), now, kConnectionLinger);
}

// ---------------------------------------------------------------- connections

void PeerQueues::follow(Time now) {
  connections_.follow(now, closed());
  for (const Key& key : std::vector<Key>(busy_.begin(), busy_.end())) attend(key, now);
}

const Connection* PeerQueues::hear(const Wire::Arrived& arrived, Time now) {
  Connection* connection = connections_.find(arrived.route);
  if (connection && connection->peer) {
    connections_.heard(now, *connection, arrived);
    return connection;
  }
  meet(arrived, now);
  return nullptr;
}

// Takes the first frame of a connection. A dialled one may have been closed meanwhile.
void PeerQueues::meet(const Wire::Arrived& arrived, Time now) {
  const Route& route = arrived.route;
  Connection* connection = connections_.find(route);
  const bool is_refused = connection && connection->closes_at;
  if (is_refused || (!connection && route.is_dialled())) return;
  const auto greeting = read_greeting(arrived.header);
  if (!greeting) {
    if (const auto reason = read_refusal(arrived.header))
      guard_.note_refused_there(now, *reason, connections_.who(arrived));
    else
      guard_.note(now, "no-greeting", connections_.who(arrived));
    if (!connection) return connections_.refuse(arrived.descriptor);
    return connections_.close(route, closed());
  }
  if (connection)
    connections_.heard(now, *connection, arrived);
  else
    connection = &connections_.meet(arrived, greeting->plane, now);
  if (!admit(now, *greeting, arrived, *connection))
    return connections_.close_soon(route, now, kConnectionLinger);
  connection->peer = greeting->node;
  greeted(route, *connection, now);
}

// Sends the reason of a refusal, so that the other end can report it.
bool PeerQueues::admit(Time now, const Greeting& greeting, const Wire::Arrived& arrived,
                       Connection& connection) {
  auto admitted = guard_.admit(now, greeting, connection.key, connections_.who(arrived));
  if (admitted)
    connection.certificate = *std::move(admitted);
  else
    say(arrived.route, refusal_of(admitted.error().text));
  return admitted.has_value();
}

void PeerQueues::say(const Route& route, const std::string& header) {
  bool sent_header = false;
  wire_.send(route, {header, {}}, sent_header);
}

void PeerQueues::greeted(const Route& route, Connection& connection, Time now) {
  const NodeId peer = *connection.peer;
  if (!route.is_dialled()) say(route, guard_.greeting(connection.plane));
  for (auto& [key, queue] : queues_)
    if (route.is_dialled() && queue.to.at == connection.at) queue.pause = kRedialLeast;
  if (peer == self_) return;  // another node of this node's name
  connections_.close_superseded(connection, closed());
  PeerQueue& queue = queue_of({connection.plane, peer});
  if (!queue.via)
    queue.via = route;
  else if (is_better(route, *queue.via, peer))
    change(queue, route, now);
  else if (route.is_dialled())
    connections_.close_soon(route, now, kReplacedLinger);
}

// Dialled by the same end, the newer replaces one that is silent: it was lost, as when a NAT drops
// it, or another process has the peer's name. Else the one that the lower id has dialled is better.
bool PeerQueues::is_better(const Route& route, const Route& than, NodeId peer) const {
  if (route.is_dialled() == than.is_dialled()) return connections_.is_silent(than);
  const auto dialler = [&](const Route& of) { return of.is_dialled() ? self_ : peer; };
  return dialler(route) < dialler(than);
}

// A message that has begun stays on its connection, unless that is lost, and so do those after it
// until all are acknowledged: over the other connection one could overtake a large vector, which
// would then count as lost. The end that dialled closes the old connection.
void PeerQueues::change(PeerQueue& queue, const Route& to, Time now) {
  queue.next = to;
  const Connection* connection = connections_.find(*queue.via);
  if (connections_.is_silent(*queue.via))
    dropped_ += queue.waiting.give_up_begun();
  else if (queue.waiting.is_within() || (connection && connections_.is_sending(*connection)))
    return;
  const Route before = *std::exchange(queue.via, std::exchange(queue.next, std::nullopt));
  if (before.is_dialled()) connections_.close_soon(before, now, kReplacedLinger);
}

Connections::Closed PeerQueues::closed() {
  return [this](const Route& route, const Connection& connection) {
    for (auto& [key, queue] : queues_) {
      if (queue.next == route) queue.next.reset();
      if (queue.via == route) {
        dropped_ += queue.waiting.give_up_begun();
        queue.via = std::exchange(queue.next, std::nullopt);
      }
      // No node answered there; control messages are repeated anyway.
      const bool is_vain = !connection.peer && key.plane == Plane::control &&
                           route.socket == Wire::dialler(key.plane) && queue.to.at == connection.at;
      if (is_vain) dropped_ += queue.waiting.clear();
    }
    std::erase_if(queues_, [this](const auto& item) {
      const auto& [key, queue] = item;
      const bool is_gone = !is_reached(key) && !queue.via && queue.waiting.empty();
      if (is_gone) busy_.erase(key);
      return is_gone;
    });
  };
}

// ---------------------------------------------------------------- sending

void PeerQueues::attend(const Key& key, Time now) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return void(busy_.erase(key));
  PeerQueue& queue = found->second;
  if (!queue.via) queue.via = route_of(key, queue);
  if (queue.via)
    drain(queue, now);
  else
    dial(key, queue, now);
  if (!queue.waiting.empty()) return;
  busy_.erase(key);
  if (std::holds_alternative<NodeId>(key.whom)) return;
  queues_.erase(found);
}

// An open connection for the queue.
std::optional<PeerQueues::Route> PeerQueues::route_of(const Key& key, const PeerQueue& queue) {
  if (const auto* node = std::get_if<NodeId>(&key.whom)) return connections_.with(*node, key.plane);
  const auto dialled = connections_.dialled_to(queue.to.at, key.plane);
  const Connection* connection = dialled ? connections_.find(*dialled) : nullptr;
  return connection && connection->peer ? dialled : std::nullopt;
}

void PeerQueues::dial(const Key& key, PeerQueue& queue, Time now) {
  if (!can_dial(queue.to, guard_) || now < queue.next_dial ||
      connections_.dialled_to(queue.to.at, key.plane) ||
      !connections_.is_read(queue.to.at, key.plane))
    return;
  queue.next_dial = PLANTED(dials_once) ? kNever : now + queue.pause;
  queue.pause = std::min(queue.pause * 2, kRedialMost);
  const auto route = connections_.dial(queue.to.at, key.plane, queue.to.key, now);
  if (route) say(*route, guard_.greeting(key.plane));
}

void PeerQueues::drain(PeerQueue& queue, Time now) {
  while (queue.via && !queue.waiting.empty()) {
    if (queue.next) change(queue, *queue.next, now);
    const Route route = *queue.via;
    bool is_gone = false;
    const bool is_whole = queue.waiting.send_front([&](const Frame& frame, bool& sent_header) {
      const Wire::Sent sent = wire_.send(route, frame, sent_header);
      is_gone = sent == Wire::Sent::gone;
      return sent == Wire::Sent::whole;
    });
    if (Connection* connection = connections_.find(route)) connections_.used(*connection);
    if (is_gone) {
      queue.via.reset();
      dropped_ += queue.waiting.give_up_begun();
      connections_.lost(now, route);
      return;
    }
    if (!is_whole) return;
  }
}

Time PeerQueues::deadline(Time now) const {
  Time next = kNever;
  for (const Key& key : busy_) {
    const PeerQueue& queue = queues_.at(key);
    if (queue.via)
      next = std::min(next, now + kRetry);
    else if (can_dial(queue.to, guard_) && !connections_.dialled_to(queue.to.at, key.plane))
      next = std::min(next, std::max(queue.next_dial, now + std::chrono::milliseconds(1)));
  }
  return next;
}

std::size_t PeerQueues::in_use() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(queues_, [](const auto& item) { return item.second.via.has_value(); }));
}

}  // namespace starling::gossip
