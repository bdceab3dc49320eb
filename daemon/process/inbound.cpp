#include "daemon/process/inbound.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "daemon/process/log.h"
#include "daemon/process/memory.h"

namespace starling::daemon {
namespace {

// The ZMTP head of a part: flags, and a length of one byte or eight.
constexpr std::int64_t kShortPart = 255, kShortHead = 2, kLongHead = 9;

std::int64_t bytes_from_network(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return static_cast<std::int64_t>(info.tcpi_bytes_received);
}

}  // namespace

Inbound::Inbound(zmq::context_t& context, zmq::socket_t& receiver, const std::string& name,
                 std::size_t connections_limit)
    : receiver_(receiver),
      events_(context, zmq::socket_type::pair),
      connections_limit_(connections_limit) {
  const std::string address = "inproc://" + name;
  zmq_socket_monitor(receiver.handle(), address.c_str(),
                     ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED);
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(address);
}

Inbound::~Inbound() {
  zmq_socket_monitor(receiver_.handle(), nullptr, 0);
}

void Inbound::received(zmq::message_t& part) {
  const int descriptor = zmq_msg_get(part.handle(), ZMQ_SRCFD);
  if (descriptor < 0) return;
  const auto size = static_cast<std::int64_t>(part.size());
  Connection& connection = connections_[descriptor];
  connection.received_bytes += size + (size > kShortPart ? kLongHead : kShortHead);
  connection.last_use = ++uses_;
}

// An event is two parts: a number of 16 bits and a value of 32, and the address.
void Inbound::read_events() {
  zmq::message_t event, address;
  while (events_.recv(event, zmq::recv_flags::dontwait)) {
    if (!events_.recv(address, zmq::recv_flags::dontwait)) return;
    std::uint16_t kind = 0;
    std::int32_t descriptor = 0;
    std::memcpy(&kind, event.data(), sizeof(kind));
    std::memcpy(&descriptor, event.data<char>() + sizeof(kind), sizeof(descriptor));
    // Message parts may arrive before the event that announces their connection.
    if (kind == ZMQ_EVENT_ACCEPTED)
      connections_.try_emplace(descriptor, Connection{.last_use = ++uses_});
    else if (connections_.erase(descriptor) > 0 && std::exchange(closed_one_, false))
      give_back();
  }
}

std::size_t Inbound::look() {
  read_events();
  std::size_t closed = 0;
  for (auto& [descriptor, connection] : connections_) {
    const std::int64_t held = bytes_from_network(descriptor) - connection.received_bytes;
    if (held <= kHeldBytesLimit) continue;
    // ZeroMQ finds the end of the connection, and frees what it held.
    if (::shutdown(descriptor, SHUT_RDWR) != 0) continue;
    ++closed;
    closed_one_ = connection.is_closed = true;
    log::warning("closed a connection that held {} MiB of an unfinished message", held >> 20);
  }
  close_unused();
  return closed;
}

void Inbound::close_unused() {
  std::vector<std::pair<std::uint64_t, int>> open;
  for (const auto& [descriptor, connection] : connections_)
    if (!connection.is_closed) open.emplace_back(connection.last_use, descriptor);
  if (open.size() <= connections_limit_) return;
  const std::size_t beyond = open.size() - connections_limit_;
  std::ranges::sort(open);
  for (const auto& [use, descriptor] : std::span(open).first(beyond)) {
    ::shutdown(descriptor, SHUT_RDWR);
    connections_[descriptor].is_closed = true;
  }
}

}  // namespace starling::daemon
