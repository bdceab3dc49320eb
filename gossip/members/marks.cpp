#include "gossip/members/marks.h"

#include <bit>

#include "base/prng.h"

namespace starling::gossip {

// Never 0.
std::uint64_t mark_of(const Member& member, Liveness liveness) {
  const std::uint64_t state =
      liveness <= Liveness::suspect ? 0 : static_cast<std::uint64_t>(liveness);
  return mix64(mix64(mix64(member.id.value ^ state) ^ member.incarnation) ^ member.version) | 1;
}

Marks::Marks(std::span<const std::uint64_t> marks) : slots_(std::bit_ceil(2 * marks.size() + 1)) {
  for (const std::uint64_t mark : marks)
    if (mark != 0) slot_of(mark).mark = mark;
}

// The mark's slot, or the free one where it belongs. The lowest bit of all marks is 1.
Marks::Slot& Marks::slot_of(std::uint64_t mark) {
  std::size_t place = mark >> 1;
  while (true) {
    Slot& slot = slots_[place++ & (slots_.size() - 1)];
    if (slot.mark == mark || slot.mark == 0) return slot;
  }
}

bool Marks::strike(std::uint64_t mark) {
  Slot& slot = slot_of(mark);
  slot.is_struck = slot.mark == mark;
  return slot.is_struck;
}

std::vector<std::uint64_t> Marks::rest() const {
  std::vector<std::uint64_t> rest;
  for (const Slot& slot : slots_)
    if (slot.mark != 0 && !slot.is_struck) rest.push_back(slot.mark);
  return rest;
}

}  // namespace starling::gossip
