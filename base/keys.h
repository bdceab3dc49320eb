// Keys: an Ed25519 key pair signs (RFC 8032); its X25519 form is the pair of a CURVE connection.
// The functions are pure: no chance, no clock; the caller brings the random bytes of a new key. Any
// thread may call them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/content_hash.h"
#include "base/result.h"
#include "base/secret.h"

namespace starling {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kSignatureBytes = 64;

// Of an Ed25519 pair. Every value can be held, also one that is no point of the curve: verify() and
// curve_key() refuse that one.
struct PublicKey {
  std::array<std::byte, kKeyBytes> bytes{};
  auto operator<=>(const PublicKey&) const = default;
};
// 43 characters of base64url.
std::string to_string(const PublicKey& key);
// Refuses what is no point of the curve, and points of small order, too.
Result<PublicKey> parse_public_key(std::string_view text);

// The X25519 form of a public key: what a CURVE handshake proves.
struct CurveKey {
  std::array<std::byte, kKeyBytes> bytes{};
  auto operator<=>(const CurveKey&) const = default;
};
// Nothing for a key that is no point of the curve, or one of small order.
std::optional<CurveKey> curve_key(const PublicKey& key);

struct Signature {
  std::array<std::byte, kSignatureBytes> bytes{};
  auto operator<=>(const Signature&) const = default;
};
// Whether the owner of the key signed exactly this message.
bool verify(const PublicKey& key, std::span<const std::byte> message, const Signature& signature);

// Owns the secret half.
class KeyPair {
 public:
  // The pair of these random bytes: the same bytes give the same pair. REQUIRES kKeyBytes of them.
  explicit KeyPair(const Secret& seed);

  const PublicKey& public_key() const { return public_key_; }
  Signature sign(std::span<const std::byte> message) const;
  // The bytes that the pair was made of: what a file or a ticket keeps of it.
  Secret seed() const;
  // The secret half of the X25519 pair whose public half is curve_key(public_key()).
  Secret curve_secret() const;

 private:
  Secret secret_;  // the seed, then the public key
  PublicKey public_key_;
};

}  // namespace starling

template <>
struct std::hash<starling::PublicKey> {
  std::size_t operator()(const starling::PublicKey& key) const noexcept {
    return starling::content_hash(key.bytes);
  }
};
