// RecordCache: the records that were decoded lately, by their encoding. Most records that a node
// hears it knows already; those it neither decodes nor keeps again. Nodes of one process may share
// a cache: what is found in it does not depend on what it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/hash_table.h"
#include "base/ids.h"
#include "base/limits.h"
#include "gossip/wire/record.h"

namespace starling::gossip {

class RecordCache {
 public:
  // Of one member. A record changes every few seconds, and earlier ones are heard for some more.
  // Larger: more memory for records that nobody tells any more. Smaller: those that are told still
  // are decoded again.
  static constexpr std::size_t kKeptOfMember = 8;

  // `slots`: a power of two, at most 2^32. Larger: more memory. Smaller: more records are decoded
  // again, because others have taken their slots.
  explicit RecordCache(std::size_t slots = 2 * kMembersLimit) : slots_(slots) {}

  // The record with that encoding; nothing if it is malformed.
  std::optional<Record> get(std::span<const std::byte> encoding);
  // Records of any member that it holds.
  std::size_t size() const;
  // Members of which it has had a record.
  std::size_t members() const { return lately_.size(); }
  // Drops the records of all members but those.
  void keep(const std::function<bool(NodeId)>& is_kept);

 private:
  // The slots that the last records of a member took, the oldest at `next`. Other members may have
  // taken them since.
  struct Lately {
    std::array<std::uint32_t, kKeptOfMember> slots{};
    std::uint32_t count = 0, next = 0;
  };

  void note(NodeId member, std::uint32_t slot);

  std::vector<Record> slots_;  // each by the hash of its encoding
  HashMap<NodeId, Lately> lately_;
};

}  // namespace starling::gossip
