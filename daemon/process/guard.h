// Guard: decides whom a connection may belong to, and counts those it refuses, with words for
// people. With keys every connection is encrypted (CURVE), its handshake proves the key of the
// other end, and the certificate in the greeting binds this key to a name. One thread owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/keys.h"
#include "base/result.h"
#include "daemon/process/greeting.h"
#include "daemon/process/security_status.h"
#include "gossip/trust/credentials.h"

namespace starling::daemon {

class Guard {
 public:
  using Clock = std::chrono::steady_clock;

  // Without credentials (null) nothing is encrypted, and a greeting is believed.
  Guard(NodeId self, std::shared_ptr<gossip::Credentials> credentials);

  // Null without keys.
  const KeyPair* key() const { return credentials_ ? &credentials_->key : nullptr; }
  // The own greeting, and the own certificate, encoded; empty without keys.
  std::string greeting(gossip::Plane plane) const {
    return greeting_of(self_, plane, certificate_);
  }
  const std::string& certificate() const { return certificate_; }

  // The certificate behind a greeting that was accepted; without keys it is empty.
  using Admitted = std::optional<gossip::Certificate>;
  // `proven`: the key that the handshake proved; `at`: an address, for people. A refusal is noted,
  // and the error is its reason.
  Result<Admitted> admit(const Greeting& greeting, const std::optional<CurveKey>& proven,
                         std::string_view at);
  // The key of the node at an address, from the certificate that came from there. Nothing: refused,
  // which is noted.
  std::optional<PublicKey> key_at(const gossip::Certificate& certificate, std::string_view at);
  // Whether handshakes with this key are refused for now, as its certificate was.
  bool is_barred(const CurveKey& key, Clock::time_point now) const;
  // Whether a certificate that was admitted is revoked now; notes it if so.
  bool is_revoked(const gossip::Certificate& certificate, std::string_view at);
  // The number of the list of revocations, which grows.
  std::uint64_t revocations() const;

  // Every reason for which a peer is refused, with the words for people.
  static const std::map<std::string, std::string, std::less<>>& reasons();
  // Counts one. Empty words: those of the reason.
  void note(std::string_view reason, std::string_view who, std::string words = {});
  // The peer refuses this node for that reason, which the peer names.
  void note_refused_there(std::string_view reason, std::string_view who);
  SecurityStatus status() const;
  // About those refused within the last half minute.
  std::vector<std::string> warnings(Clock::time_point now) const;

 private:
  void bar(const CurveKey& key);

  static constexpr std::size_t kRefusedLimit = 32;  // entries for people
  static constexpr std::size_t kBarredLimit = 1024;
  static constexpr std::chrono::seconds kBarred{10};
  static constexpr std::chrono::seconds kRecent{30};

  const NodeId self_;
  const std::shared_ptr<gossip::Credentials> credentials_;
  std::string certificate_;
  std::map<CurveKey, Clock::time_point> barred_;  // until then
  std::map<std::string, std::uint64_t> counts_;
  std::deque<RefusedPeer> refused_;
};

}  // namespace starling::daemon
