// SendWindow: the numbered vectors that one end of an edge has sent, and which of them the other
// end has. The field calls it selective repeat: a vector is sent again when something that was sent
// behind it has been seen and the vector has not come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/payload.h"

namespace starling::gossip {

// A vector that one end of an edge offers the other.
struct EdgeVector {
  std::uint64_t round = 0;
  double share = 0;  // that the end which offers it allows; see Round
  double span = 0;   // of its steps since the one before; see optim::MixTerm
  Payload payload = {};
};

class SendWindow {
 public:
  // Returns the vector's number: 1, 2, ...
  std::uint64_t offer(EdgeVector vector);
  // The number of the last vector offered.
  std::uint64_t last() const { return last_; }
  // It was sent, for the first time or again, as number `order` of all that this end sends.
  // REQUIRES a vector that is still kept.
  void mark_sent(std::uint64_t index, std::uint64_t order) { kept_.at(index).order = order; }
  // The other end has all up to `index`, and those of the bits of `beyond` behind it, as
  // Round::beyond says. Returns whether that is news.
  bool acknowledge(std::uint64_t index, std::uint64_t beyond);
  // What the other end was last known to have: all up to this one.
  std::uint64_t acknowledged() const { return acknowledged_; }
  // The other end has seen what was sent as number `order`.
  void seen(std::uint64_t order) { seen_ = std::max(seen_, order); }
  // The highest order that the other end has seen.
  std::uint64_t seen() const { return seen_; }
  // Those that the other end lacks although it has seen something that was sent behind them.
  std::vector<std::uint64_t> lost() const;
  // The highest order of those that the other end may not have; 0 where it has all.
  std::uint64_t newest_unconfirmed() const;
  // Bytes of the vectors that the other end has not said to have.
  std::uint64_t unconfirmed_bytes() const;

  // ---- the vectors that are kept: until they are acknowledged and done with
  struct Kept {
    EdgeVector vector;
    bool is_mixed = false;
    bool has_come = false;    // at the other end
    std::uint64_t order = 0;  // of its last sending; 0: not yet
  };
  std::map<std::uint64_t, Kept>& kept() { return kept_; }
  const std::map<std::uint64_t, Kept>& kept() const { return kept_; }
  const EdgeVector& at(std::uint64_t index) const { return kept_.at(index).vector; }
  // Forgets those that are mixed and acknowledged, and all behind `last_pair`.
  void forget_done(std::uint64_t last_pair);

 private:
  std::uint64_t last_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t seen_ = 0;
  std::map<std::uint64_t, Kept> kept_;
};

}  // namespace starling::gossip
