// RenewalCount: with Needs::sums the nodes count how often all of them began anew because an edge
// of one had closed, and what lay on it was lost. Edges are open between nodes with the same count;
// a node whose edge closes counts one more, and the others follow.
#pragma once

#include <algorithm>
#include <cstdint>

namespace starling::gossip {

class RenewalCount {
 public:
  std::uint64_t value() const { return value_; }
  // Whether this node must begin anew: an edge has closed, or another node counts more.
  bool is_behind() const { return next_ > value_; }
  void edge_closed() { next_ = std::max(next_, value_ + 1); }
  // An edge has opened: from here on there is something to begin anew.
  void edge_opened() { has_opened_ = true; }
  // This node has begun anew.
  void catch_up() { value_ = next_; }
  // Takes the count of another node. Returns whether it is that of this node.
  bool agrees(std::uint64_t theirs) {
    if (theirs > value_ && theirs <= value_ + kFarthest) next_ = std::max(next_, theirs);
    if (!has_opened_) catch_up();
    return theirs == value_;
  }

 private:
  // How far above its own a node believes the count of another. Larger: a false one leaves less
  // room. Smaller: a node that was cut off for long is not followed.
  static constexpr std::uint64_t kFarthest = 1 << 20;

  std::uint64_t value_ = 0, next_ = 0;
  bool has_opened_ = false;  // some edge
};

}  // namespace starling::gossip
