// Inbound: watches the connections from others to one receiving socket. ZeroMQ delivers whole
// messages only, and keeps the parts of an unfinished one without limit; its limits are for one
// part, and for whole messages. So the bytes received on a connection are compared with those that
// came out of the socket, and a connection that holds more than a limit is closed. If there are too
// many connections, the longest silent ones are closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <zmq.hpp>

namespace starling::daemon {

class Inbound {
 public:
  // More than all queues of a regular connection hold together.
  static constexpr std::int64_t kHeldBytesLimit = 64 << 20;

  // REQUIRES a socket that is not bound yet and outlives it; `name` is unique in the context.
  Inbound(zmq::context_t& context, zmq::socket_t& receiver, const std::string& name,
          std::size_t connections_limit);
  Inbound(const Inbound&) = delete;
  Inbound& operator=(const Inbound&) = delete;
  ~Inbound();

  // One part of a message came out of the socket.
  void received(zmq::message_t& part);
  // Closes the connections that hold too much, and returns their number; then those beyond the
  // limit.
  std::size_t look();

 private:
  struct Connection {
    std::int64_t received_bytes = 0;
    std::uint64_t last_use = 0;
    bool is_closed = false;  // here, and not yet by ZeroMQ
  };

  void read_events();
  void close_unused();

  zmq::socket_t& receiver_;
  zmq::socket_t events_;
  std::size_t connections_limit_;
  bool closed_one_ = false;  // whose memory is not given back yet
  std::uint64_t uses_ = 0;
  std::map<int, Connection> connections_;  // by descriptor
};

}  // namespace starling::daemon
