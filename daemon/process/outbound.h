// Outbound: detects that the connection of one sending socket has broken. ZeroMQ silently drops its
// queue and reconnects; a message of many frames would go on in the middle, and the receiver
// refuses all frames after the gap.
#pragma once

#include <string>
#include <zmq.hpp>

namespace starling::daemon {

class Outbound {
 public:
  // REQUIRES a socket that is not connected yet and outlives it; `name` is unique in the context.
  Outbound(zmq::context_t& context, zmq::socket_t& sender, const std::string& name);
  Outbound(const Outbound&) = delete;
  Outbound& operator=(const Outbound&) = delete;
  ~Outbound();

  // Whether a connection has broken since the last call.
  bool take_break();

 private:
  zmq::socket_t& sender_;
  zmq::socket_t events_;
};

}  // namespace starling::daemon
