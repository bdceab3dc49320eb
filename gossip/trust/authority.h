// Authority: whom a node accepts, and why not. A certificate is accepted if the cluster key signed
// it, or if it is signed by its own key and the authorized keys have that key under its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/limits.h"
#include "gossip/trust/authorized_keys.h"
#include "gossip/trust/certificate.h"
#include "gossip/trust/revocations.h"

namespace starling::gossip {

// How long before its beginning a certificate is accepted, for clocks that are slow. The beginning
// orders the certificates of a name, and no one gains by one that is used early. Larger: a clock
// that is wrong is noticed later. Smaller: machines with a wrong clock cannot join.
inline constexpr std::uint64_t kClockTolerance = 31 * 86'400;  // s

// Why a certificate is refused.
struct Refusal {
  enum class Reason {
    other_key,      // the connection has proved another key than the certificate's
    unknown_key,    // signed by itself, and not among the authorized keys
    other_cluster,  // signed by a key that is not this cluster's
    bad_signature,  // not signed by the key that it names
    revoked,
    not_yet_valid,
    expired,
    superseded  // a later certificate of its name, for another key, is known
  };
  static constexpr Reason kLast = Reason::superseded;

  Reason reason;
  std::string words;  // one line for a person: what was seen, and what to do
};
// "other-key"
std::string_view to_string(Refusal::Reason reason);

// Belongs to one thread. Its memory is bounded by kMembersLimit names and one list.
class Authority {
 public:
  // Without a cluster key only authorized keys are accepted.
  Authority(std::optional<PublicKey> cluster, AuthorizedKeys authorized);

  // Nothing: accepted, and its name has no earlier certificate any more. `proven` is the key that
  // the connection's handshake proved, `now` the machine's clock in seconds since 1970. Cheap tests
  // come before the signature.
  std::optional<Refusal> judge(const Certificate& certificate, const CurveKey& proven,
                               std::uint64_t now);

  // The same for a certificate that comes with a signed record: the connection proves another
  // node's key, and no clock is asked, because one that jumps must not make members vanish.
  std::optional<Refusal> vouch(const Certificate& certificate);
  // The same for what was said under it earlier: a later certificate of the name is no reason, and
  // this one is not remembered.
  std::optional<Refusal> vouch_for_past(const Certificate& certificate) const;
  // The key with which the name was last accepted; null: the name was not.
  const PublicKey* newest_key(std::string_view name) const;

  // Takes a list over if the cluster key signed it and it supersedes the own one. Returns whether
  // it did, which is news: the certificates of open connections may be revoked now.
  bool learn(const Revocations& list);
  const Revocations& revocations() const { return revocations_; }

 private:
  using Reason = Refusal::Reason;
  // What a node's name was last accepted with. Ordered by the time, then by the key.
  struct Accepted {
    std::uint64_t not_before = 0;
    PublicKey key;
    std::uint64_t not_after = 0;
  };

  std::optional<Refusal> judge_signer(const Certificate& certificate) const;
  std::optional<Refusal> judge_signature(const Certificate& certificate) const;
  std::optional<Refusal> judge_self_signed(const Certificate& certificate) const;
  std::optional<Refusal> judge_revoked(const Certificate& certificate) const;
  std::optional<Refusal> judge_time(const Certificate& certificate, std::uint64_t now) const;
  std::optional<Refusal> judge_order(const Certificate& certificate) const;
  void remember(const Certificate& certificate);

  const std::optional<PublicKey> cluster_;
  const AuthorizedKeys authorized_;
  Revocations revocations_;
  std::map<std::string, Accepted, std::less<>> accepted_;
};

}  // namespace starling::gossip
