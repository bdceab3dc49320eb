// Certificate: the cluster key's word that a name belongs to a node's key for some time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/result.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

struct Certificate {
  static constexpr std::string_view kTitle = "certificate";
  static constexpr std::uint64_t kVersion = 1;
  static constexpr std::size_t kBytesLimit = kCertificateBytesLimit;

  PublicKey cluster = {};  // the key that signed it; the node's own: signed by itself
  std::string name;        // of the node, not empty, at most kNameBytesLimit
  PublicKey key = {};      // of the node
  std::uint64_t not_before = 0, not_after = 0;  // seconds since 1970, the first at most the second
  std::string group = {};                       // empty: none
  Signature signature = {};

  bool is_self_signed() const { return cluster == key; }
  bool operator==(const Certificate&) const = default;
};

// Whether the node may change settings of all: one of the group `operator`, or, where nodes sign
// for themselves, every node.
bool may_change_settings(const Certificate& certificate);

// Fills in `cluster` and `signature`. The error names the field that is beyond its limit.
Result<Certificate> sign_certificate(Certificate draft, const KeyPair& by);
// Whether the key that it names as its signer signed it.
bool is_signed(const Certificate& certificate);

std::string encode(const Certificate& certificate);
// Reads bytes from outside: never throws, and allocates no more than kBytesLimit. Does not verify
// the signature. The error is for people.
Result<Certificate> decode_certificate(std::span<const std::byte> bytes);

}  // namespace starling::gossip
