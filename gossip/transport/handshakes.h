// Handshakes: why connections fail before their greeting, for the guard's counts. A node closes the
// connection in the handshake, without a reason, if the other end expects another server key or has
// no keys. The connection of a killed process closes there too, but only once. An accepted
// connection that ends before its handshake is a port probe. The event of a failed handshake does
// not name an accepted connection; the next event, that a connection has broken, does.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "gossip/transport/guard.h"
#include "gossip/transport/wire.h"

namespace starling::gossip {

class Handshakes {
 public:
  // `guard` must outlive this.
  explicit Handshakes(Guard& guard) : guard_(guard) {}

  // One has failed. REQUIRES an event of a kind from `unlike` on.
  void failed(Time now, const Wire::Event& event, Wire::Socket socket);
  // An accepted connection has broken; `who`: its address.
  void broken(Time now, std::string_view who) {
    const std::string reason = std::exchange(failure_, {});
    if (!reason.empty()) guard_.note(now, reason, who);
  }
  // The address was spoken with, or could not be dialled.
  void forget(Wire::Socket socket, const std::string& address) {
    if (!ended_.empty()) ended_.erase({socket, address});
  }

 private:
  Guard& guard_;
  // Handshakes in a row that the other end has ended, by plane and address.
  std::map<std::pair<Wire::Socket, std::string>, int> ended_;
  std::string failure_;  // why the accepted connection that breaks next failed
};

}  // namespace starling::gossip
