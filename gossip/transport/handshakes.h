// Handshakes: why connections fail before their greeting, for the guard's counts. A node closes the
// connection in the handshake, without a reason, if the other end expects another server key or has
// no keys; a node that is killed does so too, but only once. An accepted connection that ends
// before its handshake is a port probe. Which accepted connection failed is known only from the
// next event, that it has broken.
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
  void forget(Wire::Socket socket, const std::string& address) { ended_.erase({socket, address}); }

 private:
  Guard& guard_;
  // Handshakes in a row that the other end has ended, by plane and address.
  std::map<std::pair<Wire::Socket, std::string>, int> ended_;
  std::string failure_;  // why the accepted connection that breaks next failed
};

}  // namespace starling::gossip
