// Revocations: the cluster key's list of names and keys that are no longer members. Its number
// grows with every change; of two lists every node keeps the one of the higher number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "gossip/trust/certificate.h"

namespace starling::gossip {

// Entries of each kind. More would not fit a message: an entry of a name has 135 bytes at most.
inline constexpr std::size_t kRevocationsLimit = 4096;

struct Revocations {
  static constexpr std::string_view kTitle = "revocation list";
  static constexpr std::uint64_t kVersion = 1;
  static constexpr std::size_t kBytesLimit = 768 << 10;

  // Times are seconds since 1970.
  struct Name {  // revokes the certificates of this name that are valid from `time` or earlier
    std::string name;
    std::uint64_t time = 0;
    bool operator==(const Name&) const = default;
  };
  struct Key {  // revokes every certificate of this key
    PublicKey key;
    std::uint64_t time = 0;  // when it was revoked
    bool operator==(const Key&) const = default;
  };

  PublicKey cluster = {};    // signed it
  std::uint64_t number = 0;  // 0: the empty list, which nobody signed
  std::vector<Name> names;   // in the order of the names, each once
  std::vector<Key> keys;     // in the order of the keys, each once
  Signature signature = {};

  bool operator==(const Revocations&) const = default;
};

// The list with these entries added, or their times raised, signed under the next number. The error
// says which limit there is.
Result<Revocations> revoke(Revocations list, std::span<const Revocations::Name> names,
                           std::span<const Revocations::Key> keys, const KeyPair& by);

// When the list revoked that certificate; nothing if it does not.
std::optional<std::uint64_t> revoked_at(const Revocations& list, const Certificate& certificate);
// Whether nodes that know both lists keep `one`. Equal numbers, which two persons may give, are
// decided by the signatures, the same at every node.
bool supersedes(const Revocations& one, const Revocations& other);
bool is_signed(const Revocations& list);

std::string encode(const Revocations& list);
// Reads bytes from outside: never throws, and allocates no more than a list has. Does not verify
// the signature. The error is for people.
Result<Revocations> decode_revocations(std::span<const std::byte> bytes);

}  // namespace starling::gossip
