#include "daemon/process/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <zmq.hpp>

#include "base/check.h"
#include "daemon/process/inbound.h"
#include "daemon/process/outbound.h"
#include "daemon/process/own_addresses.h"

namespace starling::daemon {
namespace {

using gossip::Frame;
using gossip::Plane;

constexpr std::size_t kBulkMessagesLimit = 2;
constexpr std::int64_t kMessageBytesLimit = 2 << 20;

// The rules that hold on every socket, each from a failure that was measured (docs/wire.md).
struct SocketRule {
  const char* name;
  int option, control, bulk;  // -1: as the system has it
};
constexpr SocketRule kSocketRules[] = {
    {"linger", ZMQ_LINGER, 500, 500},
    {"sndhwm", ZMQ_SNDHWM, 256, 16},  // frames, chunks
    {"rcvhwm", ZMQ_RCVHWM, 256, 16},
    // Bulk frames wait here, where they can be replaced; control frames ride out a connection's
    // birth.
    {"immediate", ZMQ_IMMEDIATE, 0, 1},
    {"connect_timeout", ZMQ_CONNECT_TIMEOUT, 2000, 2000},
    {"handshake_ivl", ZMQ_HANDSHAKE_IVL, 5000, 5000},
    {"reconnect_ivl", ZMQ_RECONNECT_IVL, 100, 100},
    {"reconnect_ivl_max", ZMQ_RECONNECT_IVL_MAX, 3000, 3000},
    {"ipv6", ZMQ_IPV6, 1, 1},
    // A cut is found by the kernel: heartbeats of ZeroMQ cost every node time for every other one.
    {"tcp_maxrt", ZMQ_TCP_MAXRT, 6000, 15000},
    {"tcp_keepalive", ZMQ_TCP_KEEPALIVE, 1, -1},
    {"tcp_keepalive_idle", ZMQ_TCP_KEEPALIVE_IDLE, 10, -1},
    {"tcp_keepalive_intvl", ZMQ_TCP_KEEPALIVE_INTVL, 5, -1},
    {"tcp_keepalive_cnt", ZMQ_TCP_KEEPALIVE_CNT, 2, -1},
    {"sndbuf", ZMQ_SNDBUF, -1, 4 << 20},
    {"rcvbuf", ZMQ_RCVBUF, -1, 4 << 20},
};

void set_rules(zmq::socket_t& socket, Plane plane) {
  socket.set(zmq::sockopt::maxmsgsize, kMessageBytesLimit);
  for (const SocketRule& rule : kSocketRules) {
    const int value = plane == Plane::control ? rule.control : rule.bulk;
    const int result = zmq_setsockopt(socket.handle(), rule.option, &value, sizeof(value));
    ENSURE(result == 0, rule.name);
  }
}

std::size_t descriptors_of(Plane plane) {
  return plane == Plane::bulk ? Transport::kBulkDescriptors : Transport::kControlDescriptors;
}

std::string url(const Endpoint& endpoint) {
  return fmt::format(
      "tcp://{}:{}",
      endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]",
      endpoint.port == 0 ? "*" : std::to_string(endpoint.port));
}

Endpoint bound_endpoint(const zmq::socket_t& socket, const Endpoint& asked) {
  const std::string last = socket.get(zmq::sockopt::last_endpoint);
  Endpoint endpoint = asked;
  if (auto actual = parse_endpoint(last.substr(last.find("//") + 2))) endpoint.port = actual->port;
  return endpoint;
}

// A frame that shares the payload's bytes; ZeroMQ's thread lets go of them when they are sent.
zmq::message_t share(const Payload& body) {
  const std::span<const std::byte> bytes = body.pieces().front().bytes;
  auto* held = new Payload(body);
  return {const_cast<std::byte*>(bytes.data()), bytes.size(),
          [](void*, void* hint) { delete static_cast<Payload*>(hint); }, held};
}

zmq::message_t body_frame(const Payload& body) {
  if (body.pieces().size() == 1) return share(body);
  zmq::message_t frame(body.size());
  body.copy_to(0, {static_cast<std::byte*>(frame.data()), frame.size()});
  return frame;
}

Payload adopt(zmq::message_t frame) {
  if (frame.size() == 0) return {};
  auto owner = std::make_shared<zmq::message_t>(std::move(frame));
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(owner->data()),
                                         owner->size());
  return Payload(std::move(owner), bytes);
}

// What to do about it.
std::string bind_problem(int error) {
  const std::string what = zmq_strerror(error);
  if (error == EADDRNOTAVAIL || error == ENODEV)
    return fmt::format("no address of this machine; expected one of {}, or 0.0.0.0 for all",
                       fmt::join(own_address_texts(), ", "));
  if (error == EACCES) return what + "; expected a port from 1024 on, or 0 for any";
  return what + "; expected a free port, or 0 for any";
}

}  // namespace

struct Transport::Peer {
  // `number` is of no other peer, not even of one that is gone: ZeroMQ lets go of names late.
  Peer(zmq::context_t& context, const Endpoint& to, Plane on, std::uint64_t number)
      : socket(context, zmq::socket_type::push), plane(on) {
    set_rules(socket, on);
    if (on == Plane::bulk) outbound.emplace(context, socket, fmt::format("peer {}", number));
    socket.connect(url(to));
  }

  struct Outgoing {
    gossip::Frames frames;
    std::optional<Frame> frame;  // made, and not yet sent whole
    bool header_sent = false;
    bool begun = false;
  };

  zmq::socket_t socket;
  std::optional<Outbound> outbound;  // of the bulk plane
  Plane plane;
  std::deque<Outgoing> queue;  // of the bulk plane
  std::uint64_t last_use = 0;  // when a message was given to it, or a frame left it
};

struct Transport::Sockets {
  explicit Sockets(std::size_t connections_limit)
      : control_inbound(context, control, "control", connections_limit),
        bulk_inbound(context, bulk, "bulk", connections_limit) {}

  zmq::context_t context{1};
  zmq::socket_t control{context, zmq::socket_type::pull};
  zmq::socket_t bulk{context, zmq::socket_type::pull};
  Inbound control_inbound, bulk_inbound;
  Endpoint control_endpoint, bulk_endpoint;
  std::map<std::pair<Plane, std::string>, std::unique_ptr<Peer>> peers;

  // Only they have queues: control frames are sent or dropped.
  auto bulk_peers() {
    return std::ranges::subrange(peers.lower_bound({Plane::bulk, {}}), peers.end());
  }
  // Of all sending sockets.
  std::size_t descriptors() {
    const auto of_bulk = static_cast<std::size_t>(std::ranges::distance(bulk_peers()));
    return of_bulk * kBulkDescriptors + (peers.size() - of_bulk) * kControlDescriptors;
  }
};

Result<std::unique_ptr<Transport>> Transport::bind(const Endpoint& control, const Endpoint& bulk,
                                                   const DescriptorShares& shares) {
  auto sockets = std::make_unique<Sockets>(shares.receiving);
  // None has less than a descriptor. Those that are closed count until they are gone.
  sockets->context.set(zmq::ctxopt::max_sockets, static_cast<int>(2 * shares.sending + 64));
  const auto bind_one = [](zmq::socket_t& socket, Plane plane, const Endpoint& to,
                           std::string_view key) -> Result<Endpoint> {
    try {
      set_rules(socket, plane);
      socket.bind(url(to));
      return bound_endpoint(socket, to);
    } catch (const zmq::error_t& error) {
      return fail("{} = \"{}\": {}", key, to_string(to), bind_problem(error.num()));
    }
  };
  TRY(sockets->control_endpoint,
      bind_one(sockets->control, Plane::control, control, "listen.control"));
  TRY(sockets->bulk_endpoint, bind_one(sockets->bulk, Plane::bulk, bulk, "listen.bulk"));
  auto transport = std::unique_ptr<Transport>(new Transport(std::move(sockets)));
  transport->sending_share_ = shares.sending;
  return transport;
}

Transport::Transport(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {}
Transport::~Transport() = default;

Endpoint Transport::control() const {
  return sockets_->control_endpoint;
}
Endpoint Transport::bulk() const {
  return sockets_->bulk_endpoint;
}

Transport::Peer* Transport::peer(const Endpoint& to, Plane plane) {
  auto& peers = sockets_->peers;
  const auto key = std::pair(plane, to_string(to));
  if (const auto found = peers.find(key); found != peers.end()) return found->second.get();
  make_room(plane);
  try {
    return (peers[key] = std::make_unique<Peer>(sockets_->context, to, plane, ++peers_made_)).get();
  } catch (const zmq::error_t&) {  // too many sockets, or an address that cannot be
    peers.erase(key);
    return nullptr;
  }
}

// A closed socket drops its queue: lingering sockets take descriptors too.
void Transport::make_room(Plane plane) {
  auto& peers = sockets_->peers;
  while (!peers.empty() && sockets_->descriptors() + descriptors_of(plane) > sending_share_) {
    const auto oldest =
        std::ranges::min_element(peers, {}, [](const auto& item) { return item.second->last_use; });
    oldest->second->socket.set(zmq::sockopt::linger, 0);
    peers.erase(oldest);
  }
}

void Transport::send(const Endpoint& to, Plane plane, gossip::Frames frames) {
  Peer* target = to.port == 0 ? nullptr : peer(to, plane);
  if (!target) {
    ++dropped_;
    return;
  }
  target->last_use = ++uses_;
  std::deque<Peer::Outgoing>& queue = target->queue;
  if (queue.size() >= kBulkMessagesLimit) {
    ++dropped_;
    if (!frames.has_payload()) return;  // is repeated; must not displace a vector
    queue.pop_back();                   // older than what comes; the front, begun, stays
  }
  queue.push_back({std::move(frames), {}, false, false});
  push(*target);
  if (plane == Plane::control && !queue.empty()) {
    queue.clear();
    ++dropped_;
  }
}

// What was sent of the front message may be lost; the other end asks for it from there on. If the
// header was already sent, send the body too, so that ZeroMQ drops both parts together.
void Transport::give_up_begun(Peer& peer) {
  if (peer.queue.empty() || !peer.queue.front().begun) return;
  if (Peer::Outgoing& front = peer.queue.front(); front.header_sent) {
    zmq::message_t body = body_frame(front.frame->body);
    if (!peer.socket.send(body, zmq::send_flags::dontwait)) return;
  }
  peer.queue.pop_front();
  ++dropped_;
}

// Sends until the socket takes no more. A message's two parts go together: ZeroMQ admits both or,
// when the queue is full, neither.
void Transport::push(Peer& peer) {
  try {
    if (peer.outbound && peer.outbound->take_break()) give_up_begun(peer);
    while (!peer.queue.empty()) {
      Peer::Outgoing& outgoing = peer.queue.front();
      while (outgoing.frame || !outgoing.frames.done()) {
        if (!outgoing.frame) outgoing.frame = outgoing.frames.next();
        const Frame& frame = *outgoing.frame;
        const bool has_body = !frame.body.empty();
        if (!outgoing.header_sent) {
          zmq::message_t header(frame.header.data(), frame.header.size());
          const auto flags = has_body ? zmq::send_flags::sndmore : zmq::send_flags::none;
          if (!peer.socket.send(header, flags | zmq::send_flags::dontwait)) return;
          outgoing.header_sent = has_body;
          outgoing.begun = true;
          peer.last_use = ++uses_;
        }
        if (has_body) {
          zmq::message_t body = body_frame(frame.body);
          if (!peer.socket.send(body, zmq::send_flags::dontwait)) return;
          outgoing.header_sent = false;
        }
        outgoing.frame.reset();
      }
      peer.queue.pop_front();
    }
  } catch (const zmq::error_t&) {  // the peer cannot be reached, and waiting will not help
    peer.queue.clear();
    ++dropped_;
  }
}

void Transport::hang_up(const Endpoint& to) {
  sockets_->peers.erase({Plane::control, to_string(to)});
  sockets_->peers.erase({Plane::bulk, to_string(to)});
}

namespace {

// Takes the parts of one message; false when there is none. More than two parts are not ours.
bool receive(zmq::socket_t& socket, Inbound& inbound, zmq::message_t& header,
             zmq::message_t& body) {
  if (!socket.recv(header, zmq::recv_flags::dontwait)) return false;
  inbound.received(header);
  body.rebuild();
  if (!header.more()) return true;
  if (!socket.recv(body, zmq::recv_flags::none)) return false;
  inbound.received(body);
  bool sound = true;
  for (bool more = body.more(); more;) {
    zmq::message_t extra;
    if (!socket.recv(extra, zmq::recv_flags::none)) return false;
    inbound.received(extra);
    more = extra.more();
    sound = false;
  }
  if (!sound) header.rebuild();  // an empty header is refused by the gate, and counted
  return true;
}

void drain(zmq::socket_t& socket, Inbound& inbound, Plane plane, const FrameHandler& handler) {
  zmq::message_t header, body;
  for (std::size_t i = 0; i < Transport::kBatch && receive(socket, inbound, header, body); ++i) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(header.data()),
                                           header.size());
    handler(plane, bytes, adopt(std::move(body)));
  }
}

}  // namespace

void Transport::poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler) {
  std::vector<zmq::pollitem_t> items{{sockets_->control.handle(), 0, ZMQ_POLLIN, 0},
                                     {sockets_->bulk.handle(), 0, ZMQ_POLLIN, 0}};
  for (int wake : wakes) items.push_back({nullptr, wake, ZMQ_POLLIN, 0});
  const std::size_t first_peer = items.size();
  std::vector<Peer*> waiting;
  for (auto& [key, peer] : sockets_->bulk_peers()) {
    if (peer->queue.empty()) continue;
    waiting.push_back(peer.get());
    items.push_back({peer->socket.handle(), 0, ZMQ_POLLOUT, 0});
  }
  // Rounded up: waking before the deadline would only poll again.
  const auto wait = std::min(std::chrono::ceil<std::chrono::milliseconds>(timeout), kWatchEvery);
  try {
    zmq::poll(items, std::max(wait, std::chrono::milliseconds(0)));
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (items[first_peer + i].revents & ZMQ_POLLOUT) push(*waiting[i]);
    if (items[0].revents & ZMQ_POLLIN)
      drain(sockets_->control, sockets_->control_inbound, Plane::control, handler);
    if (items[1].revents & ZMQ_POLLIN)
      drain(sockets_->bulk, sockets_->bulk_inbound, Plane::bulk, handler);
  } catch (const zmq::error_t& error) {
    ENSURE(error.num() == EINTR, error.what());  // a signal: the caller looks at its flags
  }
  watch_inbound(handler);
}

// Each connection that was closed counts as a message that is too large.
void Transport::watch_inbound(const FrameHandler& handler) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_watch_) return;
  next_watch_ = now + kWatchEvery;
  for (std::size_t n = sockets_->control_inbound.look(); n > 0; --n)
    handler(Plane::control, {}, {});
  for (std::size_t n = sockets_->bulk_inbound.look(); n > 0; --n) handler(Plane::bulk, {}, {});
}

bool Transport::has_queued() const {
  return std::ranges::any_of(sockets_->bulk_peers(),
                             [](const auto& item) { return !item.second->queue.empty(); });
}

void Transport::flush(Duration timeout) {
  const auto ignore = [](Plane, std::span<const std::byte>, const Payload&) {};
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (has_queued() && std::chrono::steady_clock::now() < until)
    poll(std::chrono::milliseconds(10), {}, ignore);
}

std::map<std::string, int> Transport::read_back_options() const {
  std::map<std::string, int> values;
  const auto read = [&values](const std::string& prefix, zmq::socket_t& socket) {
    values[prefix + "maxmsgsize"] = static_cast<int>(socket.get(zmq::sockopt::maxmsgsize));
    for (const SocketRule& rule : kSocketRules) {
      int& value = values[prefix + rule.name];
      std::size_t size = sizeof(value);
      zmq_getsockopt(socket.handle(), rule.option, &value, &size);
    }
  };
  read("control.", sockets_->control);
  read("bulk.", sockets_->bulk);
  for (const auto& [key, peer] : sockets_->peers)
    read(key.first == Plane::control ? "control.peer." : "bulk.peer.", peer->socket);
  return values;
}

}  // namespace starling::daemon
