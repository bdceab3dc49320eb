// ZapHandler: answers ZeroMQ when it asks whether a connection with a proven key may open (ZAP, RFC
// 27 of ZeroMQ). It admits every key of CURVE that is not barred, and makes the key known as the
// property User-Id of the connection's messages; the certificate in the greeting decides the rest.
// The transport's thread owns it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <zmq.hpp>

#include "base/keys.h"

namespace starling::daemon {

inline constexpr std::string_view kZapDomain = "starling";
inline constexpr const char* kZapKeyProperty = "User-Id";

// The key that the property stands for.
std::optional<CurveKey> read_zap_key(std::string_view text);

class ZapHandler {
 public:
  using IsBarred = std::function<bool(const CurveKey&)>;
  // Answers for all sockets of the context.
  ZapHandler(zmq::context_t& context, IsBarred is_barred);
  // Answers all questions there are.
  void answer();
  bool is_readable() const { return (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0; }
  // To wait for; an edge, not a level.
  int descriptor() const { return socket_.get(zmq::sockopt::fd); }

 private:
  IsBarred is_barred_;
  zmq::socket_t socket_;
};

}  // namespace starling::daemon
