// ZapHandler: answers ZeroMQ's requests whether a connection with a proven key may open (ZAP, RFC
// 27 of ZeroMQ). It admits every CURVE key that is not barred, and sets the key as the property
// User-Id of the connection's messages; the certificate in the greeting decides the rest. The
// transport's thread owns it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <zmq.hpp>

#include "base/keys.h"

namespace starling::daemon {

inline constexpr std::string_view kZapDomain = "starling";
inline constexpr const char* kZapKeyProperty = "User-Id";

// The key in the text of the property.
std::optional<CurveKey> read_zap_key(std::string_view text);

class ZapHandler {
 public:
  using IsBarred = std::function<bool(const CurveKey&)>;
  // Answers for all sockets of the context.
  ZapHandler(zmq::context_t& context, IsBarred is_barred);
  // Answers all waiting requests.
  void answer();
  bool is_readable() const { return (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0; }
  // To wait for; edge-triggered.
  int descriptor() const { return socket_.get(zmq::sockopt::fd); }

 private:
  IsBarred is_barred_;
  zmq::socket_t socket_;
};

}  // namespace starling::daemon
