// A node's id is the hash of its name: the same name is the same node, wherever and whenever it
// starts.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace starling {

struct NodeId {
  std::uint64_t value = 0;
  auto operator<=>(const NodeId&) const = default;
};

// 64-bit hash of a text, the same on every machine (FNV-1a, finished with mix64).
std::uint64_t stable_hash(std::string_view text);

NodeId node_id(std::string_view name);

// Sixteen hexadecimal digits.
std::string to_string(NodeId id);

// node-2 before node-10: runs of digits compare as numbers, everything else as bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace starling

template <>
struct std::hash<starling::NodeId> {
  std::size_t operator()(starling::NodeId id) const noexcept { return id.value; }
};
