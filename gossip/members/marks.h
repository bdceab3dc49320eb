// Marks: one number for each member, which stands for what a node knows of it: a hash of the
// member, of the age of its record, and of whether it is dead or has left. Nodes with equal marks
// differ at most in the progress of members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash_table.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

std::uint64_t mark_of(const Member& member, Liveness liveness);

// A set of marks, of which some are struck out.
class Marks {
 public:
  explicit Marks(std::span<const std::uint64_t> marks) : rest_(marks.begin(), marks.end()) {}

  // Strikes the mark out. Returns whether the set has it and it was not struck out before.
  bool strike(std::uint64_t mark) { return rest_.erase(mark) > 0; }
  // The marks that were not struck out, ascending.
  std::vector<std::uint64_t> rest() const;

 private:
  HashSet<std::uint64_t> rest_;
};

}  // namespace starling::gossip
