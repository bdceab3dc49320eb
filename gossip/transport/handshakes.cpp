#include "gossip/transport/handshakes.h"

namespace starling::gossip {

void Handshakes::failed(Time now, const Wire::Event& event, Wire::Socket socket) {
  using Kind = Wire::Event::Kind;
  // Fewer handshakes ended in a row are not reported: a process that is killed ends one at most.
  constexpr int kEndedInRow = 3;
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
    guard_.note(now, reason, event.address.substr(event.address.rfind('/') + 1));
}

}  // namespace starling::gossip
