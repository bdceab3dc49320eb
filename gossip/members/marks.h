// Marks: what a node knows of its members, as a number for each: a hash of the member, of the age
// of its record, and of whether it is dead or has left. Nodes whose marks are equal have nothing to
// tell each other but the progress of members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gossip/wire/message.h"

namespace starling::gossip {

std::uint64_t mark_of(const Member& member, Liveness liveness);

// A set of marks, of which some are struck out.
class Marks {
 public:
  explicit Marks(std::span<const std::uint64_t> marks);

  // Whether the set has that mark; then it is struck out.
  bool strike(std::uint64_t mark);
  // The marks that were not struck out.
  std::vector<std::uint64_t> rest() const;

 private:
  struct Slot {
    std::uint64_t mark = 0;  // 0: free
    bool is_struck = false;
  };
  Slot& slot_of(std::uint64_t mark);

  std::vector<Slot> slots_;  // a power of two, at least twice as many as marks
};

}  // namespace starling::gossip
