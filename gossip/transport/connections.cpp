#include "gossip/transport/connections.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "gossip/wire/connection_rules.h"

namespace starling::gossip {
namespace {

// How long frames of a connection that has ended may still be read.
constexpr std::chrono::seconds kRead{1};

// A handshake this old was ended by this end (handshake_ivl in zmq_wire.cpp): no process answers,
// as on a suspended machine, whose system accepts connections all the same. Less than
// handshake_ivl, for connections dialled while events waited to be read.
constexpr std::chrono::milliseconds kHandshakeMost{4'500};

constexpr std::string_view kNobody = "a stranger";

void opened(Connection& connection, int descriptor) {
  if (connection.state != Connection::State::dialling) return;
  connection.become(Connection::State::open);
  connection.descriptor = descriptor;
}

// Whether a connection dialled to the address is older than kHandshakeMost.
bool is_unanswered(const auto& all, const std::string& address, Time now) {
  return std::ranges::any_of(all, [&](const auto& item) {
    const Connection& one = item.second;
    return one.address == address && !one.has_ended() && now - one.since >= kHandshakeMost;
  });
}

// Whether nothing was acknowledged for `patience` despite `again` retransmissions. The system of a
// stopped process still acknowledges data, or announces that it has no room.
bool is_cut(const std::optional<Tcp::Flow>& flow, Duration patience, int again) {
  return flow && flow->is_unacknowledged && flow->retransmissions >= again &&
         flow->since_ack >= patience;
}

// Whether bytes are unsent or not acknowledged, or were sent within kConnectionLinger.
bool is_outgoing(const std::optional<Tcp::Flow>& flow) {
  return flow &&
         (flow->is_unacknowledged || flow->is_unsent || flow->since_sent < kConnectionLinger);
}

// Whether that is so, or bytes were received within `linger`.
bool is_moving(const std::optional<Tcp::Flow>& flow, Duration linger) {
  return is_outgoing(flow) || (flow && flow->since_received < linger);
}

}  // namespace

// Nothing: the system has no connection.
std::optional<Tcp::Flow> Connections::flow(const Connection& connection) const {
  if (connection.descriptor < 0 || connection.has_ended()) return std::nullopt;
  return wire_.flow(connection.descriptor);
}

bool Connections::is_sending(const Connection& connection) const {
  return is_outgoing(flow(connection));
}

Connection* Connections::find(const Route& route) {
  const auto found = all_.find(route);
  const bool is_known = found != all_.end() && found->second.state != Connection::State::shut;
  return is_known ? &found->second : nullptr;
}

std::optional<Connections::Route> Connections::with(NodeId peer, Plane plane) const {
  const std::pair<const Route, Connection>* newest = nullptr;
  for (const auto& item : all_)
    if (item.second.peer == peer && item.second.plane == plane && item.second.is_usable() &&
        (!newest || item.second.since > newest->second.since))
      newest = &item;
  return newest ? std::optional(newest->first) : std::nullopt;
}

bool Connections::is_silent(const Route& route) const {
  const auto found = all_.find(route);
  return found == all_.end() || is_cut(flow(found->second), std::chrono::seconds(1), 2);
}

bool Connections::is_idle(const Route& route) const {
  const auto found = all_.find(route);
  const auto flow = found == all_.end() ? std::nullopt : this->flow(found->second);
  return flow && std::min(flow->since_ack, flow->since_received) >= kCutPatience;
}

void Connections::lost(Time now, const Route& route) {
  Connection* connection = find(route);
  if (!connection || !connection->is_usable()) return;
  const bool is_open = connection->state == Connection::State::open;
  connection->become(is_open ? Connection::State::lost : Connection::State::broken);
  connection->ended = now;
  unread_.insert(route.socket);
}

bool Connections::is_read(const Endpoint& at, Plane plane) const {
  return std::ranges::none_of(all_, [&](const auto& item) {
    return item.first.socket == Wire::dialler(plane) && item.second.at == at &&
           item.second.has_ended() && !item.second.is_read;
  });
}

void Connections::all_read(Wire::Socket socket) {
  if (unread_.erase(socket) == 0) return;
  for (auto& [route, connection] : all_)
    if (route.socket == socket) connection.is_read = connection.has_ended();
}

std::optional<Connections::Route> Connections::dialled_to(const Endpoint& at, Plane plane) const {
  for (const auto& [route, connection] : all_)
    if (route.socket == Wire::dialler(plane) && connection.at == at && connection.is_usable())
      return route;
  return std::nullopt;
}

std::optional<Connections::Route> Connections::dial(const Endpoint& to, Plane plane,
                                                    const std::optional<CurveKey>& key, Time now) {
  // ZeroMQ disconnects by address: older connections to it must be ended first.
  const Wire::Socket socket = Wire::dialler(plane);
  std::erase_if(all_, [&](const auto& item) {
    const bool is_past =
        item.first.socket == socket && !item.second.is_usable() && item.second.at == to;
    if (is_past) wire_.hang_up(to, socket);
    return is_past;
  });
  const auto dialled = wire_.dial(to, plane, key);
  if (!dialled) return std::nullopt;
  Connection& connection = all_[dialled->route];
  connection = {.plane = plane, .at = to, .key = key, .address = dialled->address, .since = now};
  used(connection);
  return dialled->route;
}

void Connections::heard(Time now, Connection& connection, const Wire::Arrived& arrived) {
  opened(connection, arrived.descriptor);
  connection.received_bytes += arrived.bytes;
  handshakes_.forget(arrived.route.socket, connection.address);
  if (connection.closes_at) connection.closes_at = now + connection.linger;
  connection.last_use = ++uses_;
}

Connection& Connections::meet(const Wire::Arrived& arrived, Plane plane, Time now) {
  Connection& connection = all_[arrived.route];
  connection.plane = plane;
  if (plane == Plane::control) wire_.hasten(arrived.descriptor);
  connection.since = now;
  connection.address = who(arrived);
  connection.key = arrived.proven;
  strangers_.take(arrived.descriptor);
  heard(now, connection, arrived);
  return connection;
}

std::string Connections::who(const Wire::Arrived& arrived) const {
  if (const std::string* address = strangers_.address(arrived.descriptor)) return *address;
  const auto known = all_.find(arrived.route);
  return known == all_.end() ? std::string(kNobody) : known->second.address;
}

void Connections::close(const Route& route, const Closed& closed) {
  const auto found = all_.find(route);
  if (found == all_.end() || !found->second.is_usable()) return;
  if (!route.is_dialled()) {
    if (wire_.shut(found->second.descriptor)) found->second.become(Connection::State::shut);
    closed(route, found->second);
    return;
  }
  wire_.hang_up(found->second.at, route.socket);
  const Connection gone = std::move(found->second);
  all_.erase(found);
  closed(route, gone);
}

void Connections::close_superseded(const Connection& by, const Closed& closed) {
  if (!by.certificate) return;
  std::vector<Route> superseded;
  for (const auto& [route, connection] : all_)
    if (connection.peer == by.peer && connection.certificate &&
        connection.certificate->key != by.certificate->key)
      superseded.push_back(route);
  for (const Route& route : superseded) close(route, closed);
}

void Connections::close_soon(const Route& route, Time now, Duration linger) {
  Connection* connection = find(route);
  if (!connection) return;
  connection->linger = linger;
  connection->closes_at = now + linger;
}

void Connections::follow(Time now, const Closed& closed) {
  for (const Wire::Socket socket : Wire::kSockets)
    while (const auto event = wire_.next_event(socket)) take(*event, socket, now, closed);
}

void Connections::take(const Wire::Event& event, Wire::Socket socket, Time now,
                       const Closed& closed) {
  using Kind = Wire::Event::Kind;
  if (event.kind == Kind::ended && is_unanswered(all_, event.address, now)) return;
  if (event.kind >= Kind::unlike) return handshakes_.failed(now, event, socket);
  const bool is_dialled = socket != Wire::Socket::accepts;
  const std::optional<Route> route = owner(event, socket);
  if (event.kind == Kind::opened) {
    if (route && is_dialled) opened(all_.at(*route), event.descriptor);
    if (!route && !is_dialled)
      strangers_.add(now, event.descriptor,
                     event.address.empty() ? std::string(kNobody) : event.address);
    return;
  }
  if (!is_dialled)
    handshakes_.broken(now, strangers_.take(event.descriptor).value_or(std::string(kNobody)));
  if (event.kind == Kind::vain) handshakes_.forget(socket, event.address);
  ++closings_;
  if (!route) return;
  Connection& connection = all_.at(*route);
  const bool was_lost = connection.state == Connection::State::lost;
  connection.become(Connection::State::broken);
  connection.descriptor = -1;
  unread_.insert(socket);
  if (was_lost) return;
  connection.ended = now;
  closed(*route, connection);
}

std::vector<Connections::Route> Connections::revoked(Time now) {
  std::vector<Route> found;
  if (std::exchange(revocations_, guard_.revocations()) == guard_.revocations()) return found;
  for (const auto& [route, connection] : all_)
    if (connection.certificate &&
        guard_.is_revoked(now, *connection.certificate, connection.address))
      found.push_back(route);
  return found;
}

// A connection that is being dialled has no descriptor yet. Descriptors are reused: of two
// connections with the same one, an event belongs to the older, because the first frame of the
// younger may be read before that event.
std::optional<Connections::Route> Connections::owner(const Wire::Event& event,
                                                     Wire::Socket socket) const {
  const std::pair<const Route, Connection>* best = nullptr;
  for (const auto& item : all_) {
    const auto& [route, connection] = item;
    if (route.socket != socket || connection.state == Connection::State::broken) continue;
    const bool is_it = connection.descriptor < 0 ? event.kind != Wire::Event::Kind::broken &&
                                                       connection.address == event.address
                                                 : connection.descriptor == event.descriptor;
    if (is_it && (!best || connection.since < best->second.since)) best = &item;
  }
  return best ? std::optional(best->first) : std::nullopt;
}

Connections::Looked Connections::look(Time now, const Closed& closed) {
  std::erase_if(all_, [&](const auto& item) {
    const bool is_past = item.second.has_ended() && now - item.second.ended > kRead;
    if (is_past && item.first.is_dialled()) wire_.hang_up(item.second.at, item.first.socket);
    return is_past;
  });
  Looked looked;
  std::vector<Route> due = revoked(now);
  for (const auto& [route, connection] : all_) {
    const auto flow = this->flow(connection);
    const std::int64_t held = flow ? flow->received_bytes - connection.received_bytes : 0;
    if (held > kHeldBytesLimit && connection.state != Connection::State::shut) {
      looked.full.push_back(held);
      due.push_back(route);
    } else if (is_due(connection, flow, now)) {
      due.push_back(route);
    }
  }
  strangers_.look(now, kHeldBytesLimit, looked.full);
  for (const Route& route : due) close(route, closed);
  close_unused(closed);
  looked.closed = std::exchange(closings_, 0);
  return looked;
}

bool Connections::is_due(const Connection& connection, const std::optional<Tcp::Flow>& flow,
                         Time now) {
  // Bytes from an unknown peer do not keep a connection open.
  if (connection.closes_at && now >= *connection.closes_at)
    if (!connection.peer || !is_moving(flow, connection.linger)) return true;
  if (is_cut(flow, kCutPatience, kCutSendings) && !PLANTED(cut_unseen)) {
    if (connection.peer && connection.plane == Plane::control) cut_.push_back(*connection.peer);
    return true;
  }
  if (connection.peer || now - connection.since <= Strangers::kGreetingPatience) return false;
  if (guard_.key() && connection.descriptor >= 0)
    guard_.note(now, "no-greeting", connection.address);
  return true;
}

std::optional<Connections::Route> Connections::least_used(bool is_dialled) const {
  const std::pair<const Route, Connection>* least = nullptr;
  for (const auto& item : all_)
    if (item.first.is_dialled() == is_dialled && item.second.is_usable() &&
        (!least || item.second.last_use < least->second.last_use))
      least = &item;
  return least ? std::optional(least->first) : std::nullopt;
}

void Connections::close_unused(const Closed& closed) {
  if (all_.size() + strangers_.size() <= std::min(limits_.dialled, limits_.accepted)) return;
  for (const bool is_dialled : {false, true}) {
    const std::size_t limit = is_dialled ? limits_.dialled : limits_.accepted;
    auto open = static_cast<std::size_t>(std::ranges::count_if(all_, [&](const auto& item) {
      return item.first.is_dialled() == is_dialled && item.second.is_usable();
    }));
    if (!is_dialled) open += strangers_.size();
    for (; !is_dialled && open > limit && strangers_.size() > 0; --open) strangers_.close_oldest();
    for (; open > limit; --open)
      if (const auto route = least_used(is_dialled)) close(*route, closed);
  }
}

}  // namespace starling::gossip
