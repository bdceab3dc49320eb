#include "daemon/process/zap_handler.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/base64url.h"

namespace starling::daemon {
namespace {

// The parts of a request, after the requester's address and an empty part.
enum ZapPart { version = 2, request, domain, address, route, mechanism, credentials };

std::vector<zmq::message_t> read_parts(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  zmq::message_t part;
  while (socket.recv(part, zmq::recv_flags::dontwait)) {
    const bool is_last = !part.more();
    parts.push_back(std::move(part));
    part.rebuild();
    if (is_last) break;
  }
  return parts;
}

std::optional<CurveKey> proven_key(const std::vector<zmq::message_t>& parts) {
  if (parts.size() != ZapPart::credentials + 1 ||
      parts[ZapPart::version].to_string_view() != "1.0" ||
      parts[ZapPart::domain].to_string_view() != kZapDomain ||
      parts[ZapPart::mechanism].to_string_view() != "CURVE" ||
      parts[ZapPart::credentials].size() != kKeyBytes)
    return std::nullopt;
  CurveKey key;
  std::copy_n(parts[ZapPart::credentials].data<std::byte>(), kKeyBytes, key.bytes.begin());
  return key;
}

}  // namespace

std::optional<CurveKey> read_zap_key(std::string_view text) {
  CurveKey key;
  return read_base64url(text, key.bytes) ? std::optional(key) : std::nullopt;
}

ZapHandler::ZapHandler(zmq::context_t& context, IsBarred is_barred)
    : is_barred_(std::move(is_barred)), socket_(context, zmq::socket_type::router) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
}

void ZapHandler::answer() {
  for (auto parts = read_parts(socket_); !parts.empty(); parts = read_parts(socket_)) {
    if (parts.size() <= ZapPart::request) continue;
    const auto key = proven_key(parts);
    const bool is_admitted = key && !is_barred_(*key);
    const std::string text = is_admitted ? to_base64url(key->bytes) : std::string();
    const auto send = [&](std::string_view part, bool is_last) {
      zmq::message_t message(part.data(), part.size());
      socket_.send(message, is_last ? zmq::send_flags::none : zmq::send_flags::sndmore);
    };
    for (const int head : {0, 1}) send(parts[head].to_string_view(), false);
    send("1.0", false);
    send(parts[ZapPart::request].to_string_view(), false);
    send(is_admitted ? "200" : "400", false);
    send(is_admitted ? "OK" : "refused", false);
    send(text, false);
    send("", true);
  }
}

}  // namespace starling::daemon
