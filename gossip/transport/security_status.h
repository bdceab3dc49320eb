// SecurityStatus: the certificate of a node, and the peers it refused lately, for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/trust/certificate.h"

namespace starling::gossip {

// A peer that was refused. One that is refused again changes its entry.
struct RefusedPeer {
  std::string who;     // its name or address
  std::string reason;  // one of Guard::reasons()
  std::string words;   // what was seen, and what to do
  std::uint64_t count = 0;
  Time last{};
};
// "no connection with node-9: ..."
inline std::string sentence(const RefusedPeer& peer) {
  return "no connection with " + peer.who + ": " + peer.words;
}

struct SecurityStatus {
  std::optional<Certificate> certificate = {};        // of this node; nothing: without keys
  std::uint64_t revocations = 0;                      // the number of its list; 0: none
  std::map<std::string, std::uint64_t> refused = {};  // by reason
  std::vector<RefusedPeer> peers = {};                // the one refused last is last
};

}  // namespace starling::gossip
