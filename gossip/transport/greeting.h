// Greeting: the first frame of a connection in each direction. It names the sending node and the
// plane, and carries that node's certificate. Refusal: the answer to a greeting that is not
// accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// A new format gets a new mark; no message of the protocol begins with one.
inline constexpr std::string_view kGreetingMark = "\xc1starling greets 3";
inline constexpr std::string_view kRefusalMark = "\xc1starling refuses 1 ";

struct Greeting {
  NodeId node;
  Plane plane;
  std::span<const std::byte> certificate;  // encoded; empty: the node has no keys
};

inline bool begins_with(std::span<const std::byte> bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

// The mark, the plane as one byte, the id, least byte first, and the certificate.
inline std::string greeting_of(NodeId node, Plane plane, std::string_view certificate) {
  std::string text(kGreetingMark);
  text += static_cast<char>(plane);
  for (int k = 0; k < 8; ++k) text += static_cast<char>(node.value >> (8 * k) & 0xff);
  return text.append(certificate);
}

// Nothing: these bytes are no greeting. The certificate is a part of `bytes`.
inline std::optional<Greeting> read_greeting(std::span<const std::byte> bytes) {
  const std::size_t head = kGreetingMark.size() + 1;
  if (bytes.size() < head + 8 || !begins_with(bytes, kGreetingMark)) return std::nullopt;
  const auto plane = static_cast<Plane>(bytes[head - 1]);
  if (plane > Plane::bulk) return std::nullopt;
  NodeId node;
  for (std::size_t k = 0; k < 8; ++k)
    node.value |= std::to_integer<std::uint64_t>(bytes[head + k]) << (8 * k);
  return Greeting{node, plane, bytes.subspan(head + 8)};
}

// `reason`: as in Guard.
inline std::string refusal_of(std::string_view reason) {
  return std::string(kRefusalMark).append(reason);
}
// Nothing: these bytes are no refusal.
inline std::optional<std::string> read_refusal(std::span<const std::byte> bytes) {
  if (!begins_with(bytes, kRefusalMark)) return std::nullopt;
  const auto rest = bytes.subspan(kRefusalMark.size());
  return std::string(reinterpret_cast<const char*>(rest.data()), rest.size());
}

}  // namespace starling::gossip
