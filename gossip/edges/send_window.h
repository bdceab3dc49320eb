// SendWindow: the numbered vectors that this end of an edge has sent, and which of them the peer
// has. Stream reports which messages the peer has seen, and retransmits the vectors of lost().
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "base/payload.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

// A vector that one end of an edge offers the other.
struct EdgeVector : VectorTerms {
  Payload payload = {};
  std::uint64_t number = 0;  // the number that it was encoded for; 0: any. See optim::EdgeOffer
};

// The damping for a theta from 0 to 1; see Round::damping.
inline std::uint64_t damping_of(double theta) {
  return static_cast<std::uint64_t>(std::llround((1 - theta) * static_cast<double>(kDampingOne)));
}

class SendWindow {
 public:
  // Returns the vector's number: 1, 2, ...
  std::uint64_t offer(EdgeVector vector);
  // The number of the last vector offered.
  std::uint64_t last() const { return last_; }
  // The vector was sent or retransmitted as message number `order` of this end. REQUIRES that the
  // vector is still kept.
  void mark_sent(std::uint64_t number, std::uint64_t order) { kept_.at(number).order = order; }
  // The peer has all vectors up to `up_to`, and those that the bits of `beyond` name, as in
  // Round::beyond. Returns whether `up_to` is higher than acknowledged before.
  bool acknowledge(std::uint64_t up_to, std::uint64_t beyond);
  // The peer is known to have all vectors up to this number.
  std::uint64_t acknowledged() const { return acknowledged_; }
  // The peer has seen the message that was sent as number `order`.
  void seen(std::uint64_t order) { seen_ = std::max(seen_, order); }
  // The highest order that the peer has seen.
  std::uint64_t seen() const { return seen_; }
  // The vectors that the peer lacks although it has seen a message that was sent after them.
  std::vector<std::uint64_t> lost() const;
  // The highest order of the vectors that the peer may lack; 0 if it has all.
  std::uint64_t newest_unconfirmed() const;
  // Bytes of the vectors that the peer has not acknowledged.
  std::uint64_t unconfirmed_bytes() const;

  // ---- the vectors that are kept until they are acknowledged and mixed
  struct Kept {
    EdgeVector vector;
    bool is_mixed = false;
    bool has_come = false;    // the peer has acknowledged it
    std::uint64_t order = 0;  // Round::order of its last sending; 0: not sent
  };
  std::map<std::uint64_t, Kept>& kept() { return kept_; }
  const std::map<std::uint64_t, Kept>& kept() const { return kept_; }
  const EdgeVector& at(std::uint64_t number) const { return kept_.at(number).vector; }
  // Forgets all vectors but the last.
  void keep_newest() { kept_.erase(kept_.begin(), kept_.find(last_)); }
  // Forgets the vectors that are mixed and acknowledged, and all after number `last_pair`.
  void forget_done(std::uint64_t last_pair);

 private:
  std::uint64_t last_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t seen_ = 0;
  std::map<std::uint64_t, Kept> kept_;
};

}  // namespace starling::gossip
