#include "daemon/process/connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "daemon/process/own_addresses.h"
#include "gossip/wire/connection_rules.h"

namespace starling::daemon {
namespace {

// How long frames of a connection that has ended may still be read.
constexpr std::chrono::seconds kRead{1};

// After this many closed connections memory is given back. Larger: more unused memory, as after the
// start of a large fleet. Smaller: the allocator spends more time on it.
constexpr std::size_t kClosedMost = 64;

// Fewer handshakes ended in a row are not reported: a process that is killed ends one at most.
constexpr int kEndedInRow = 3;

// A handshake this old was ended by this end (handshake_ivl in wire.cpp): no process answers, as on
// a suspended machine, whose system accepts connections all the same. Less than handshake_ivl, for
// connections dialled while events waited to be read.
constexpr std::chrono::milliseconds kHandshakeMost{4'500};

constexpr std::string_view kNobody = "a stranger";

// The address of the other end of an open connection.
std::string address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return std::string(kNobody);
  const void* where =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  const std::string text = numeric_text(where, address.ss_family);
  return text.empty() ? std::string(kNobody) : text;
}

// Whether a connection dialled to the address is older than kHandshakeMost.
bool is_unanswered(const auto& all, const std::string& address, Connection::Clock::time_point now) {
  return std::ranges::any_of(all, [&](const auto& item) {
    const Connection& one = item.second;
    return one.address == address && !one.ended && now - one.since >= kHandshakeMost;
  });
}

bool is_open(const Connection& connection) {
  return !connection.is_closing && !connection.ended;
}

// The state of a TCP connection; all zero if there is none.
tcp_info state_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info : tcp_info{};
}

std::int64_t bytes_from_network(int descriptor) {
  return static_cast<std::int64_t>(state_of(descriptor).tcpi_bytes_received);
}

// The bytes that ZeroMQ holds of unfinished messages.
std::int64_t held_by(const Connection& connection) {
  if (connection.descriptor < 0 || connection.ended) return 0;
  return bytes_from_network(connection.descriptor) - connection.received_bytes;
}

// Whether nothing was acknowledged for `patience` despite `again` retransmissions. The system of a
// stopped process still acknowledges data, or announces that it has no room.
bool is_cut(const Connection& connection, std::chrono::milliseconds patience, int again) {
  if (connection.descriptor < 0 || connection.ended) return false;
  const tcp_info info = state_of(connection.descriptor);
  return info.tcpi_unacked > 0 && info.tcpi_retransmits >= again &&
         std::chrono::milliseconds(info.tcpi_last_ack_recv) >= patience;
}

// Whether bytes are unsent or not acknowledged, or were sent within kConnectionLinger, so that the
// peer may not have read them.
bool is_outgoing(const tcp_info& info) {
  return info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0 ||
         std::chrono::milliseconds(info.tcpi_last_data_sent) < gossip::kConnectionLinger;
}

// Whether that is so, or bytes were received within kConnectionLinger.
bool is_moving(const Connection& connection) {
  if (connection.descriptor < 0 || connection.ended) return false;
  const tcp_info info = state_of(connection.descriptor);
  return is_outgoing(info) ||
         std::chrono::milliseconds(info.tcpi_last_data_recv) < gossip::kConnectionLinger;
}

// Shuts a connection down: ZeroMQ notices its end, and frees what it held.
bool shut(int descriptor) {
  return descriptor >= 0 && ::shutdown(descriptor, SHUT_RDWR) == 0;
}

}  // namespace

bool is_sending(const Connection& connection) {
  if (connection.descriptor < 0 || connection.ended) return false;
  return is_outgoing(state_of(connection.descriptor));
}

Connection* Connections::find(const Route& route) {
  const auto found = all_.find(route);
  return found == all_.end() || found->second.is_closing ? nullptr : &found->second;
}

std::optional<Connections::Route> Connections::with(NodeId peer, Plane plane) const {
  const std::pair<const Route, Connection>* newest = nullptr;
  for (const auto& item : all_)
    if (item.second.peer == peer && item.second.plane == plane && is_open(item.second) &&
        (!newest || item.second.since > newest->second.since))
      newest = &item;
  return newest ? std::optional(newest->first) : std::nullopt;
}

bool Connections::is_silent(const Route& route) const {
  const auto found = all_.find(route);
  return found == all_.end() || is_cut(found->second, std::chrono::seconds(1), 2);
}

bool Connections::is_idle(const Route& route) const {
  const auto found = all_.find(route);
  if (found == all_.end() || found->second.descriptor < 0 || found->second.ended) return false;
  const tcp_info info = state_of(found->second.descriptor);
  return std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)) >=
         gossip::kCutPatience;
}

void Connections::lost(const Route& route) {
  if (Connection* connection = find(route)) connection->ended = Clock::now();
}

bool Connections::is_read(const Endpoint& at, Plane plane) const {
  return std::ranges::none_of(all_, [&](const auto& item) {
    return item.first.socket == Wire::dialler(plane) && item.second.at == at && item.second.ended &&
           !item.second.is_read;
  });
}

void Connections::all_read(Wire::Socket socket) {
  for (auto& [route, connection] : all_)
    if (route.socket == socket) connection.is_read = connection.ended.has_value();
}

std::optional<Connections::Route> Connections::dialled_to(const Endpoint& at, Plane plane) const {
  for (const auto& [route, connection] : all_)
    if (route.socket == Wire::dialler(plane) && connection.at == at && is_open(connection))
      return route;
  return std::nullopt;
}

std::optional<Connections::Route> Connections::dial(const Endpoint& to, Plane plane,
                                                    const std::optional<CurveKey>& key,
                                                    Clock::time_point now) {
  // ZeroMQ disconnects by address: older connections to it must be ended first.
  const Wire::Socket socket = Wire::dialler(plane);
  std::erase_if(all_, [&](const auto& item) {
    const bool is_past =
        item.first.socket == socket && !is_open(item.second) && item.second.at == to;
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

void Connections::heard(Connection& connection, const Wire::Arrived& arrived) {
  if (!connection.ended) connection.descriptor = arrived.descriptor;
  connection.received_bytes += arrived.bytes;
  ended_.erase({arrived.route.socket, connection.address});
  if (connection.closes_at) connection.closes_at = Clock::now() + gossip::kConnectionLinger;
  connection.last_use = ++uses_;
}

Connection& Connections::meet(const Wire::Arrived& arrived, Plane plane, Clock::time_point now) {
  Connection& connection = all_[arrived.route];
  connection.plane = plane;
  if (plane == Plane::control) Wire::hasten(arrived.descriptor);
  connection.since = now;
  connection.address = who(arrived);
  connection.key = wire_.proven();
  strangers_.erase(arrived.descriptor);
  heard(connection, arrived);
  return connection;
}

void Connections::refuse(int descriptor) {
  if (strangers_.contains(descriptor)) shut(descriptor);
}

std::string Connections::who(const Wire::Arrived& arrived) const {
  const auto found = strangers_.find(arrived.descriptor);
  if (found != strangers_.end()) return found->second.who;
  const auto known = all_.find(arrived.route);
  return known == all_.end() ? std::string(kNobody) : known->second.address;
}

void Connections::close(const Route& route, const Closed& closed) {
  const auto found = all_.find(route);
  if (found == all_.end() || !is_open(found->second)) return;
  if (!route.is_dialled()) {
    found->second.is_closing = shut(found->second.descriptor);
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

void Connections::close_soon(const Route& route, Clock::time_point now) {
  if (Connection* connection = find(route)) connection->closes_at = now + gossip::kConnectionLinger;
}

void Connections::follow(Clock::time_point now, const Closed& closed) {
  for (const Wire::Socket socket : Wire::kSockets)
    while (const auto event = wire_.next_event(socket)) take(*event, socket, now, closed);
}

void Connections::take(const Wire::Event& event, Wire::Socket socket, Clock::time_point now,
                       const Closed& closed) {
  using Kind = Wire::Event::Kind;
  if (event.kind == Kind::ended && is_unanswered(all_, event.address, now)) return;
  if (event.kind >= Kind::unlike) return note_failure(event, socket);
  const bool is_dialled = socket != Wire::Socket::accepts;
  const std::optional<Route> route = owner(event, socket);
  if (event.kind == Kind::opened) {
    if (route && is_dialled) all_.at(*route).descriptor = event.descriptor;
    if (!route && !is_dialled) strangers_[event.descriptor] = {now, address_of(event.descriptor)};
    return;
  }
  if (!is_dialled) forget_stranger(event.descriptor);
  if (event.kind == Kind::vain) ended_.erase({socket, event.address});
  if (++closed_ > kClosedMost) closed_ = 0, give_back();
  if (!route) return;
  Connection& connection = all_.at(*route);
  connection.descriptor = -1;
  if (connection.ended) return;
  connection.ended = now;
  closed(*route, connection);
}

// A node closes the connection in the handshake, without a reason, if the other end expects another
// server key or has no keys; a node that is killed does so too, but only once. An accepted
// connection that ends before its handshake is a port probe. Which accepted connection failed is
// known only from the next event, that it has broken.
void Connections::note_failure(const Wire::Event& event, Wire::Socket socket) {
  using Kind = Wire::Event::Kind;
  const bool is_dialled = socket != Wire::Socket::accepts;
  const bool has_keys = guard_.key() != nullptr;
  std::string_view reason = is_dialled ? "other-server" : "handshake";
  if (event.kind == Kind::unlike) reason = has_keys ? "no-keys" : "needs-keys";
  if (event.kind == Kind::refused) reason = "refused-there";
  if (event.kind == Kind::ended && !is_dialled) return;
  if (event.kind == Kind::ended && ++ended_[{socket, event.address}] < kEndedInRow) return;
  if (!has_keys && event.kind == Kind::failed) return;
  if (!has_keys && event.kind == Kind::ended) reason = "needs-keys";
  if (!is_dialled)
    failure_ = reason;
  else
    guard_.note(reason, event.address.substr(event.address.rfind('/') + 1));
}

void Connections::forget_stranger(int descriptor) {
  const auto found = strangers_.find(descriptor);
  const std::string reason = std::exchange(failure_, {});
  if (!reason.empty()) guard_.note(reason, found == strangers_.end() ? kNobody : found->second.who);
  if (found != strangers_.end()) strangers_.erase(found);
}

std::vector<Connections::Route> Connections::revoked() {
  std::vector<Route> found;
  if (std::exchange(revocations_, guard_.revocations()) == guard_.revocations()) return found;
  for (const auto& [route, connection] : all_)
    if (connection.certificate && guard_.is_revoked(*connection.certificate, connection.address))
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
    if (route.socket != socket || (connection.ended && connection.descriptor < 0)) continue;
    const bool is_it = connection.descriptor < 0 ? event.kind != Wire::Event::Kind::broken &&
                                                       connection.address == event.address
                                                 : connection.descriptor == event.descriptor;
    if (is_it && (!best || connection.since < best->second.since)) best = &item;
  }
  return best ? std::optional(best->first) : std::nullopt;
}

std::size_t Connections::look(Clock::time_point now, const Closed& closed) {
  std::erase_if(all_, [&](const auto& item) {
    const bool is_past = item.second.ended && now - *item.second.ended > kRead;
    if (is_past && item.first.is_dialled()) wire_.hang_up(item.second.at, item.first.socket);
    return is_past;
  });
  std::vector<Route> full, due = revoked();
  for (const auto& [route, connection] : all_) {
    const std::int64_t held = held_by(connection);
    if (held > kHeldBytesLimit && !connection.is_closing) {
      log::warning("closed a connection that held {} MiB of an unfinished message", held >> 20);
      full.push_back(route);
    } else if (is_due(connection, now)) {
      due.push_back(route);
    }
  }
  const std::size_t strangers = look_at_strangers(now);
  if (!full.empty() || strangers > 0) closed_ = kClosedMost;
  for (const Route& route : full) close(route, closed);
  for (const Route& route : due) close(route, closed);
  close_unused(closed);
  return full.size() + strangers;
}

bool Connections::is_due(const Connection& connection, Clock::time_point now) {
  // Bytes from an unknown peer do not keep a connection open.
  if (connection.closes_at && now >= *connection.closes_at)
    if (!connection.peer || !is_moving(connection)) return true;
  if (is_cut(connection, gossip::kCutPatience, kCutSendings)) {
    if (connection.peer && connection.plane == Plane::control) cut_.push_back(*connection.peer);
    return true;
  }
  if (connection.peer || now - connection.since <= kGreetingPatience) return false;
  if (guard_.key() && connection.descriptor >= 0) guard_.note("no-greeting", connection.address);
  return true;
}

// Closes the strangers that hold too much, or are too old; returns how many held too much.
std::size_t Connections::look_at_strangers(Clock::time_point now) {
  std::size_t full = 0;
  std::erase_if(strangers_, [&](const auto& stranger) {
    const std::int64_t held = bytes_from_network(stranger.first);
    if (held <= kHeldBytesLimit && now - stranger.second.since <= kGreetingPatience) return false;
    if (held > kHeldBytesLimit) {
      log::warning("closed a connection that held {} MiB of an unfinished message", held >> 20);
      ++full;
    }
    return shut(stranger.first);
  });
  return full;
}

std::optional<Connections::Route> Connections::least_used(bool is_dialled) const {
  const std::pair<const Route, Connection>* least = nullptr;
  for (const auto& item : all_)
    if (item.first.is_dialled() == is_dialled && is_open(item.second) &&
        (!least || item.second.last_use < least->second.last_use))
      least = &item;
  return least ? std::optional(least->first) : std::nullopt;
}

void Connections::close_unused(const Closed& closed) {
  for (const bool is_dialled : {false, true}) {
    const std::size_t limit = is_dialled ? limits_.dialled : limits_.accepted;
    auto open = static_cast<std::size_t>(std::ranges::count_if(all_, [&](const auto& item) {
      return item.first.is_dialled() == is_dialled && is_open(item.second);
    }));
    if (!is_dialled) open += strangers_.size();
    for (; !is_dialled && open > limit && !strangers_.empty(); --open) {
      const auto oldest = std::ranges::min_element(
          strangers_, {}, [](const auto& stranger) { return stranger.second.since; });
      shut(oldest->first);
      strangers_.erase(oldest);
    }
    for (; open > limit; --open)
      if (const auto route = least_used(is_dialled)) close(*route, closed);
  }
}

}  // namespace starling::daemon
