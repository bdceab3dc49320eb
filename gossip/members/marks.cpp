#include "gossip/members/marks.h"

#include <algorithm>

#include "base/prng.h"

namespace starling::gossip {

std::uint64_t mark_of(const Member& member, Liveness liveness) {
  const std::uint64_t state =
      liveness <= Liveness::suspect ? 0 : static_cast<std::uint64_t>(liveness);
  return mix64(mix64(mix64(member.id.value ^ state) ^ member.incarnation) ^ member.version);
}

std::vector<std::uint64_t> Marks::rest() const {
  std::vector<std::uint64_t> rest(rest_.begin(), rest_.end());
  std::ranges::sort(rest);
  return rest;
}

}  // namespace starling::gossip
