// History: the convergence series of a node since its start, every round up to a limit and thinned
// evenly above it, so that it stays bounded however long the node runs. An evaluated round is not
// thinned away for one that was not evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gossip/io.h"

namespace starling::daemon {

class History {
 public:
  static constexpr std::size_t kPointsLimit = 10'000;

  void add(const gossip::Progress& point);
  // Points of `round` and later ones, oldest first; the newest point is always among them.
  std::vector<gossip::Progress> from(std::uint64_t round) const;

 private:
  void put(std::vector<gossip::Progress>& points, const gossip::Progress& point) const;

  std::vector<gossip::Progress> points_;
  std::uint64_t stride_ = 1;  // keeps one of so many rounds
  gossip::Progress newest_;
  bool any_ = false;
};

}  // namespace starling::daemon
