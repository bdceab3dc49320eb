// Keys and certificates for tests.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>

#include "gossip/trust/credentials.h"
#include "tests/base/test_key.h"

namespace starling::test {

inline constexpr std::uint64_t kDay = 86'400, kToday = 1'795'471'680;  // 2026-11-23

inline gossip::Certificate certificate_draft(const std::string& name, const KeyPair& of) {
  return {.name = name,
          .key = of.public_key(),
          .not_before = kToday - kDay,
          .not_after = kToday + kDay};
}

inline gossip::Certificate certificate_of(const std::string& name, const KeyPair& of,
                                          const KeyPair& by) {
  const auto certificate = sign_certificate(certificate_draft(name, of), by);
  REQUIRE(certificate.has_value());
  return *certificate;
}

// Of a node whose cluster key is `cluster`.
inline std::shared_ptr<gossip::Credentials> credentials_of(gossip::Certificate certificate,
                                                           KeyPair key, const KeyPair& cluster) {
  gossip::Authority authority(cluster.public_key(), {});
  return std::make_shared<gossip::Credentials>(
      gossip::Credentials{std::move(key), std::move(certificate), std::move(authority)});
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Calls `check` with the text that has one bit flipped, for every bit of it, then with each of its
// beginnings.
inline void damage(const std::string& text,
                   const std::function<void(const std::string& damaged, std::size_t at)>& check) {
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      check(flipped, at);
    }
  for (std::size_t size = 0; size < text.size(); ++size) check(text.substr(0, size), size);
}

}  // namespace starling::test
