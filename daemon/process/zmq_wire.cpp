#include "daemon/process/zmq_wire.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "daemon/process/congestion.h"
#include "daemon/process/own_addresses.h"
#include "daemon/process/zap_handler.h"
#include "gossip/transport/greeting.h"

namespace starling::daemon {
namespace {

constexpr std::int64_t kMessageBytesLimit = 2 << 20;

// The kernel closes a control connection whose data are not acknowledged for this long.
constexpr int kControlPatience_ms = 6000;

// The options of every socket, each because of a failure that was measured (docs/wire.md). Accepted
// connections get those of bulk, because their plane is not known yet.
struct SocketRule {
  const char* name;
  int option, control, bulk;  // -1: the system's default
};
constexpr SocketRule kSocketRules[] = {
    {"linger", ZMQ_LINGER, 500, 500},
    {"sndhwm", ZMQ_SNDHWM, 256, 16},  // frames, chunks
    {"rcvhwm", ZMQ_RCVHWM, 256, 16},
    // If it is full, a peer that dials waits a second before its next try.
    {"backlog", ZMQ_BACKLOG, 1024, 1024},
    {"connect_timeout", ZMQ_CONNECT_TIMEOUT, 2000, 2000},
    {"handshake_ivl", ZMQ_HANDSHAKE_IVL, 5000, 5000},
    // So long that ZeroMQ never dials again by itself: PeerQueues hangs up first, and dials with a
    // new route. Without reconnection ZeroMQ would drop frames that were received and not read yet.
    {"reconnect_ivl", ZMQ_RECONNECT_IVL, 60'000, 60'000},
    {"ipv6", ZMQ_IPV6, 1, 1},
    // The kernel detects a cut: heartbeats of ZeroMQ would cost a node time for every peer.
    {"tcp_maxrt", ZMQ_TCP_MAXRT, kControlPatience_ms, 15000},
    // A NAT may drop a connection without packets for 30 s.
    {"tcp_keepalive", ZMQ_TCP_KEEPALIVE, 1, 1},
    {"tcp_keepalive_idle", ZMQ_TCP_KEEPALIVE_IDLE, 10, 10},
    {"tcp_keepalive_intvl", ZMQ_TCP_KEEPALIVE_INTVL, 5, 5},
    {"tcp_keepalive_cnt", ZMQ_TCP_KEEPALIVE_CNT, 2, 2},
    {"sndbuf", ZMQ_SNDBUF, -1, 4 << 20},
    {"rcvbuf", ZMQ_RCVBUF, -1, 4 << 20},
};
constexpr int kOpened = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED,
              kClosed = ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED,
              kFailed = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// ZMQ_ZAP_ENFORCE_DOMAIN: libzmq has it from 4.3.0 on, its header only among the drafts.
constexpr int kZapEnforceDomain = 93;

// The ZMTP head of a part: flags, and a length of one byte or eight.
constexpr std::int64_t kShortPart = 255, kShortHead = 2, kLongHead = 9;

std::int64_t bytes_on_wire(const zmq::message_t& part) {
  const auto size = static_cast<std::int64_t>(part.size());
  return size + (size > kShortPart ? kLongHead : kShortHead);
}

int value_of(const SocketRule& rule, ZmqWire::Socket socket) {
  return socket == ZmqWire::Socket::dials_control ? rule.control : rule.bulk;
}

void set_rules(zmq::socket_t& socket, ZmqWire::Socket what) {
  socket.set(zmq::sockopt::maxmsgsize, kMessageBytesLimit);
  // Sending to a full or missing connection is an error; otherwise the frame would vanish.
  socket.set(zmq::sockopt::router_mandatory, 1);
  for (const SocketRule& rule : kSocketRules) {
    const int value = value_of(rule, what);
    const int result = zmq_setsockopt(socket.handle(), rule.option, &value, sizeof(value));
    ENSURE(result == 0, rule.name);
  }
}

// ZeroMQ keeps a copy of the secret key, which Secret does not protect.
void set_keys(zmq::socket_t& socket, const KeyPair& key, bool is_server) {
  const CurveKey own = curve_key(key.public_key()).value();
  const Secret secret = key.curve_secret();
  socket.set(zmq::sockopt::curve_publickey, zmq::const_buffer(own.bytes.data(), own.bytes.size()));
  socket.set(zmq::sockopt::curve_secretkey,
             zmq::const_buffer(secret.bytes().data(), secret.size()));
  if (!is_server) return;
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::zap_domain, kZapDomain);
  const int enforce = 1;  // without a ZapHandler no connection is admitted
  zmq_setsockopt(socket.handle(), kZapEnforceDomain, &enforce, sizeof(enforce));
}

void watch(zmq::socket_t& socket, zmq::socket_t& events) {
  const std::string address = fmt::format("inproc://events {}", socket.handle());
  zmq_socket_monitor(socket.handle(), address.c_str(), kOpened | kClosed | kFailed);
  events.set(zmq::sockopt::linger, 0);
  events.set(zmq::sockopt::rcvhwm, 0);
  events.connect(address);
}

// A frame that shares the payload's bytes; ZeroMQ's thread releases them when they are sent.
zmq::message_t share(const Payload& payload) {
  const std::span<const std::byte> bytes = payload.pieces().front().bytes;
  auto* held = new Payload(payload);
  return {const_cast<std::byte*>(bytes.data()), bytes.size(),
          [](void*, void* hint) { delete static_cast<Payload*>(hint); }, held};
}

zmq::message_t payload_frame(const Payload& payload) {
  if (payload.pieces().size() == 1) return share(payload);
  zmq::message_t frame(payload.size());
  payload.copy_to(0, {static_cast<std::byte*>(frame.data()), frame.size()});
  return frame;
}

Payload adopt(zmq::message_t frame) {
  if (frame.size() == 0) return {};
  auto owner = std::make_shared<zmq::message_t>(std::move(frame));
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(owner->data()),
                                         owner->size());
  return Payload(std::move(owner), bytes);
}

// What is wrong and what to do.
std::string bind_problem(int error) {
  const std::string what = zmq_strerror(error);
  if (error == EADDRNOTAVAIL || error == ENODEV)
    return fmt::format("no address of this machine; expected one of {}, or 0.0.0.0 for all",
                       fmt::join(own_address_texts(), ", "));
  if (error == EACCES) return what + "; expected a port from 1024 on, or 0 for any";
  return what + "; expected a free port, or 0 for any";
}

// The address of the other end of an open connection.
std::string address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  const void* where =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  return numeric_text(where, address.ss_family);
}

// The key that the sender of the frame has proved.
std::optional<CurveKey> proven_by(zmq::message_t& header) {
  const char* text = zmq_msg_gets(header.handle(), kZapKeyProperty);
  return text ? read_zap_key(text) : std::nullopt;
}

int descriptor_of(const zmq::socket_t& socket) {
  return socket.get(zmq::sockopt::fd);
}

}  // namespace

std::string ZmqWire::url(const Endpoint& endpoint) {
  return fmt::format(
      "tcp://{}:{}",
      endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]",
      endpoint.port == 0 ? "*" : std::to_string(endpoint.port));
}

ZmqWire::End::End(zmq::context_t& context, Socket what, const KeyPair* key)
    : socket(context, zmq::socket_type::router), events(context, zmq::socket_type::pair) {
  set_rules(socket, what);
  if (key) set_keys(socket, *key, what == Socket::accepts);
  watch(socket, events);
}

ZmqWire::ZmqWire(zmq::context_t& context, const KeyPair* key)
    : ends_{End(context, kSockets[0], key), End(context, kSockets[1], key),
            End(context, kSockets[2], key)} {}

ZmqWire::~ZmqWire() {
  for (End& end : ends_) zmq_socket_monitor(end.socket.handle(), nullptr, 0);
}

Outcome<Endpoint> ZmqWire::bind(const Endpoint& at, std::string_view key) {
  zmq::socket_t& socket = end(Socket::accepts).socket;
  try {
    socket.bind(url(at));
  } catch (const zmq::error_t& error) {
    return complaint(error.num() == EADDRINUSE ? kExitFailed : kExitWrongUsage, "{} = \"{}\": {}",
                     key, to_string(at), bind_problem(error.num()));
  }
  const std::string last = socket.get(zmq::sockopt::last_endpoint);
  Endpoint bound = at;
  if (auto actual = parse_endpoint(last.substr(last.find("//") + 2))) bound.port = actual->port;
  return bound;
}

// The name of the route cannot be one that ZeroMQ gives: those begin with a zero byte.
std::optional<ZmqWire::Dialled> ZmqWire::dial(const Endpoint& to, gossip::Plane plane,
                                              const std::optional<CurveKey>& server) {
  const Route route{dialler(plane), fmt::format("dial {}", ++dials_)};
  zmq::socket_t& socket = end(route.socket).socket;
  try {
    if (server)
      socket.set(zmq::sockopt::curve_serverkey,
                 zmq::const_buffer(server->bytes.data(), server->bytes.size()));
    socket.set(zmq::sockopt::connect_routing_id, route.name);
    socket.connect(url(to));
    return Dialled{route, socket.get(zmq::sockopt::last_endpoint)};
  } catch (const zmq::error_t&) {
    return std::nullopt;
  }
}

void ZmqWire::hang_up(const Endpoint& to, Socket socket) {
  // Fails if it has broken: nothing is left to close.
  zmq_disconnect(end(socket).socket.handle(), url(to).c_str());
}

void ZmqWire::hasten(int descriptor) {
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kControlPatience_ms,
               sizeof(kControlPatience_ms));
}

gossip::Wire::Flow ZmqWire::flow(int descriptor) const {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  using std::chrono::milliseconds;
  return {.received_bytes = static_cast<std::int64_t>(info.tcpi_bytes_received),
          .is_unsent = info.tcpi_notsent_bytes > 0,
          .is_unacknowledged = info.tcpi_unacked > 0,
          .retransmissions = info.tcpi_retransmits,
          .since_ack = milliseconds(info.tcpi_last_ack_recv),
          .since_sent = milliseconds(info.tcpi_last_data_sent),
          .since_received = milliseconds(info.tcpi_last_data_recv)};
}

bool ZmqWire::shut(int descriptor) {
  return descriptor >= 0 && ::shutdown(descriptor, SHUT_RDWR) == 0;
}

// ZeroMQ accepts the payload of a frame whenever it has accepted the header.
ZmqWire::Sent ZmqWire::send(const Route& route, const gossip::Frame& frame, bool& sent_header) {
  zmq::socket_t& socket = end(route.socket).socket;
  const bool has_payload = !frame.payload.empty();
  try {
    if (!sent_header) {
      zmq::message_t name(route.name.data(), route.name.size());
      if (!socket.send(name, zmq::send_flags::sndmore | zmq::send_flags::dontwait))
        return Sent::later;
      zmq::message_t header(frame.header.data(), frame.header.size());
      const auto flags = has_payload ? zmq::send_flags::sndmore : zmq::send_flags::none;
      if (!socket.send(header, flags | zmq::send_flags::dontwait)) return Sent::later;
      sent_header = has_payload;
    }
    if (has_payload) {
      zmq::message_t payload = payload_frame(frame.payload);
      if (!socket.send(payload, zmq::send_flags::dontwait)) return Sent::later;
      sent_header = false;
    }
  } catch (const zmq::error_t&) {
    sent_header = false;
    return Sent::gone;
  }
  return Sent::whole;
}

std::optional<ZmqWire::Arrived> ZmqWire::receive(Socket from) {
  zmq::socket_t& socket = end(from).socket;
  zmq::message_t name, payload;
  while (socket.recv(name, zmq::recv_flags::dontwait)) {
    bool is_sound = name.more() && socket.recv(header_, zmq::recv_flags::dontwait).has_value();
    if (!is_sound) continue;
    Arrived arrived{.route = {from, name.to_string()},
                    .descriptor = zmq_msg_get(header_.handle(), ZMQ_SRCFD),
                    .bytes = bytes_on_wire(header_)};
    payload.rebuild();
    if (header_.more()) {
      is_sound = socket.recv(payload, zmq::recv_flags::dontwait).has_value();
      arrived.bytes += bytes_on_wire(payload);
    }
    for (bool more = payload.more(); more;) {  // no frame has more than two parts
      zmq::message_t extra;
      is_sound = false;
      if (!socket.recv(extra, zmq::recv_flags::dontwait)) break;
      more = extra.more();
    }
    arrived.header = {static_cast<const std::byte*>(header_.data()), is_sound ? header_.size() : 0};
    if (is_sound) arrived.payload = adopt(std::move(payload));
    if (from == Socket::accepts && gossip::begins_with(arrived.header, gossip::kGreetingMark))
      arrived.proven = proven_by(header_);
    return arrived;
  }
  return std::nullopt;
}

ZmqWire::Event::Kind ZmqWire::kind_of(std::uint16_t event, std::int32_t value) {
  using Kind = Event::Kind;
  if ((event & kOpened) != 0) return Kind::opened;
  if (event == ZMQ_EVENT_DISCONNECTED) return Kind::broken;
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return Kind::refused;
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
      value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
    return Kind::unlike;
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return Kind::failed;
  return event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ? Kind::ended : Kind::vain;
}

// An event has two parts: its kind in 16 bits with a value in 32 bits, and the address.
std::optional<ZmqWire::Event> ZmqWire::next_event(Socket socket) {
  zmq::socket_t& events = end(socket).events;
  zmq::message_t event, address;
  while (events.recv(event, zmq::recv_flags::dontwait)) {
    if (!events.recv(address, zmq::recv_flags::dontwait)) break;
    std::uint16_t kind = 0;
    std::int32_t value = 0;
    std::memcpy(&kind, event.data(), sizeof(kind));
    std::memcpy(&value, event.data<char>() + sizeof(kind), sizeof(value));
    if ((kind & kOpened) != 0) choose_congestion_control(value);
    return Event{.kind = kind_of(kind, value),
                 .descriptor = value,
                 .address = kind == ZMQ_EVENT_ACCEPTED ? address_of(value) : address.to_string()};
  }
  return std::nullopt;
}

bool ZmqWire::is_readable() const {
  return std::ranges::any_of(ends_, [](const End& end) {
    return ((end.socket.get(zmq::sockopt::events) | end.events.get(zmq::sockopt::events)) &
            ZMQ_POLLIN) != 0;
  });
}

std::array<int, ZmqWire::kDescriptors> ZmqWire::descriptors() const {
  std::array<int, kDescriptors> all{};
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    all[2 * k] = descriptor_of(ends_[k].socket);
    all[2 * k + 1] = descriptor_of(ends_[k].events);
  }
  return all;
}

std::map<std::string, int> ZmqWire::read_back_options() const {
  std::map<std::string, int> values;
  constexpr std::array kPrefixes{"control.", "accepted.", "bulk."};
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    const zmq::socket_t& socket = ends_[k].socket;
    const std::string prefix = kPrefixes[k];
    values[prefix + "maxmsgsize"] = static_cast<int>(socket.get(zmq::sockopt::maxmsgsize));
    for (const SocketRule& rule : kSocketRules) {
      int& value = values[prefix + rule.name];
      std::size_t size = sizeof(value);
      zmq_getsockopt(const_cast<void*>(socket.handle()), rule.option, &value, &size);
    }
  }
  return values;
}

}  // namespace starling::daemon
