// Guard: decides which peers may connect, and counts refusals, with texts for people. With keys
// every connection is encrypted (CURVE), its handshake proves the key of the other end, and the
// certificate in the greeting binds this key to a name. One thread owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/keys.h"
#include "base/result.h"
#include "base/time.h"
#include "gossip/transport/greeting.h"
#include "gossip/transport/security_status.h"
#include "gossip/trust/credentials.h"

namespace starling::gossip {

class Guard {
 public:
  // The machine's clock, in seconds since 1970.
  using WallClock = std::function<std::uint64_t()>;

  // Without credentials (null) nothing is encrypted, and every greeting is accepted.
  Guard(NodeId self, std::shared_ptr<Credentials> credentials, WallClock wall_clock);

  // The node's key; null without keys.
  const KeyPair* key() const { return credentials_ ? &credentials_->key : nullptr; }
  // This node's greeting, and its certificate, encoded; the certificate is empty without keys.
  std::string greeting(Plane plane) const { return greeting_of(self_, plane, certificate_); }
  const std::string& certificate() const { return certificate_; }

  // The certificate of an accepted greeting; nothing without keys.
  using Admitted = std::optional<Certificate>;
  // `proven`: the key that the handshake proved; `at`: an address, for people. A refusal is
  // counted, and the error is its reason.
  Result<Admitted> admit(Time now, const Greeting& greeting, const std::optional<CurveKey>& proven,
                         std::string_view at);
  // The key in a certificate that was received from an address. Nothing: the certificate is
  // refused, which is counted.
  std::optional<PublicKey> key_at(Time now, const Certificate& certificate, std::string_view at);
  // Whether handshakes with this key are refused, for kBarred after its certificate was.
  bool is_barred(const CurveKey& key, Time now) const;
  // Whether a certificate that was admitted is revoked now, which is counted as a refusal.
  bool is_revoked(Time now, const Certificate& certificate, std::string_view at);
  // The number of the list of revocations, which grows.
  std::uint64_t revocations() const;

  // Every reason for which a peer is refused, with the words for people.
  static const std::map<std::string, std::string, std::less<>>& reasons();
  // Counts a refusal of the peer `who`. Empty words: those of the reason.
  void note(Time now, std::string_view reason, std::string_view who, std::string words = {});
  // The peer refuses this node for that reason, which the peer names.
  void note_refused_there(Time now, std::string_view reason, std::string_view who);
  SecurityStatus status() const;
  // About the peers refused within kRecent, and a revocation of this node.
  std::vector<std::string> warnings(Time now) const;

 private:
  void bar(Time now, const CurveKey& key);

  static constexpr std::size_t kRefusedLimit = 32;  // entries for people
  static constexpr std::size_t kBarredLimit = 1024;
  static constexpr std::chrono::seconds kBarred{10};
  static constexpr std::chrono::seconds kRecent{30};

  const NodeId self_;
  const std::shared_ptr<Credentials> credentials_;
  const WallClock wall_clock_;
  std::string certificate_;
  std::map<CurveKey, Time> barred_;  // until when
  std::map<std::string, std::uint64_t> counts_;
  std::deque<RefusedPeer> refused_;
};

}  // namespace starling::gossip
