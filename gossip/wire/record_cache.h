// RecordCache: the records that were decoded lately, by their encoding. Most records that a node
// hears it knows already; those it neither decodes nor keeps again. Nodes of one process may share
// a cache: what is found in it does not depend on what it holds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/limits.h"
#include "gossip/wire/record.h"

namespace starling::gossip {

class RecordCache {
 public:
  // `slots`: a power of two. Larger: more memory. Smaller: more records are decoded again, because
  // others have taken their slots.
  explicit RecordCache(std::size_t slots = 2 * kMembersLimit) : slots_(slots) {}

  // The record with that encoding; nothing if it is malformed.
  std::optional<Record> get(std::span<const std::byte> encoding);

 private:
  std::vector<Record> slots_;  // each by the hash of its encoding
};

}  // namespace starling::gossip
