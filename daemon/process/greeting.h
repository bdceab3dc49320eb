// Greeting: the first frame of a connection in each direction. It says which node speaks there.
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

// Changes with the form of the greeting; no message of the protocol begins with it.
inline constexpr std::string_view kGreetingMark = "\xc1starling greets 1";

// The mark and the id, least byte first.
inline std::string greeting_of(NodeId node) {
  std::string text(kGreetingMark);
  for (int k = 0; k < 8; ++k) text += static_cast<char>(node.value >> (8 * k) & 0xff);
  return text;
}

// Nothing: these bytes are no greeting.
inline std::optional<NodeId> read_greeting(std::span<const std::byte> bytes) {
  if (bytes.size() != kGreetingMark.size() + 8 ||
      std::memcmp(bytes.data(), kGreetingMark.data(), kGreetingMark.size()) != 0)
    return std::nullopt;
  NodeId node;
  for (std::size_t k = 0; k < 8; ++k)
    node.value |= std::to_integer<std::uint64_t>(bytes[kGreetingMark.size() + k]) << (8 * k);
  return node;
}

}  // namespace starling::daemon
