// Greeting: the first frame of a connection in each direction. It says which node speaks there, and
// carries that node's certificate. Refusal: the answer to a greeting that is not accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace starling::daemon {

// They change with the form; no message of the protocol begins with one.
inline constexpr std::string_view kGreetingMark = "\xc1starling greets 2";
inline constexpr std::string_view kRefusalMark = "\xc1starling refuses 1 ";

struct Greeting {
  NodeId node;
  std::span<const std::byte> certificate;  // encoded; empty: the node has no keys
};

inline bool begins_with(std::span<const std::byte> bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

// The mark, the id, least byte first, and the certificate.
inline std::string greeting_of(NodeId node, std::string_view certificate) {
  std::string text(kGreetingMark);
  for (int k = 0; k < 8; ++k) text += static_cast<char>(node.value >> (8 * k) & 0xff);
  return text.append(certificate);
}

// Nothing: these bytes are no greeting. The certificate is a part of `bytes`.
inline std::optional<Greeting> read_greeting(std::span<const std::byte> bytes) {
  const std::size_t head = kGreetingMark.size() + 8;
  if (bytes.size() < head || !begins_with(bytes, kGreetingMark)) return std::nullopt;
  NodeId node;
  for (std::size_t k = 0; k < 8; ++k)
    node.value |= std::to_integer<std::uint64_t>(bytes[kGreetingMark.size() + k]) << (8 * k);
  return Greeting{node, bytes.subspan(head)};
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

}  // namespace starling::daemon
