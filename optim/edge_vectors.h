// The vectors that the two ends of an edge give each other, by their number on it, and the term of
// the average that comes of a pair of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/payload.h"

namespace starling::optim {

// The two ends of an edge among the nodes that sum slices in a round, with Needs::in_slices.
struct Slot {
  std::uint64_t round = 0;
  std::size_t nodes = 0;            // all, and
  std::size_t hubs = 0;             // those that sum; every node counts them alike
  std::size_t own = 0, theirs = 0;  // places among the hubs; `hubs`: it is none
  NodeId peer = {};                 // the other end

  bool operator==(const Slot&) const = default;
};

// The vector with that number, from 1, on an edge with that life.
struct EdgePlace {
  std::uint64_t edge = 0;
  std::uint64_t number = 0;
  // How far to shorten its message, with exchange.codec = auto; see codec/ladder.h.
  std::size_t shortening = 1;
  Slot slot = {};
};

// The vector of a neighbour who has one of its own.
struct EdgeOffer {
  std::uint64_t edge = 0;
  Payload payload = {};
  std::uint64_t number = 0;  // as in Job::offer_to; 0: none was given
  double theta = 1;          // in [0, 1], as this end allows it; see codec/quality.h
  double quality = 1;        // m of the edge, with this vector; the same
};

// A pair of vectors to average.
struct MixTerm {
  NodeId peer;
  // w_ij >= 0; of the terms of the last offer the sum is below 1. With Needs::in_order times theta;
  // 0 for a pair that is only taken note of.
  double weight = 0;
  Payload theirs;  // a whole vector in the format of the run
  // The own vector that theirs is averaged with, of this round or an earlier one. The last offer,
  // known by its address, costs no extra pass. Empty if each neighbour has a vector of its own that
  // is not encoded against earlier ones.
  Payload own = {};
  std::uint64_t edge = 0;  // the life of the edge that it came over; see Job::edges
  // Sum of the learning rates of the local steps since the previous vector on that edge, or more
  // where pairs come at uneven times: the larger of the two ends', so equal at both ends. 0 without
  // steps. With Needs::in_order divided by theta.
  double span = 0;
  std::uint64_t pair = 0;  // the number of the pair on the edge, from 1, with Needs::in_order
  double theta = 1;        // the lesser step that the two ends allow; see codec/quality.h
  // The lesser reach of the two ends; see combine/reach.h. 0: neither tells one. Nothing: the peer
  // does not average this pair, and this node's own reach counts.
  std::optional<double> reach = {};
};

// A peer's vector that was not mixed, and why: wrong size, not finite, far (combine/reach.h); its
// weight went to self.
struct Rejection {
  NodeId peer;
  std::string reason;
  bool is_known = false;  // what is encoded against it can be decoded all the same
};

struct NeighborDistance {
  NodeId peer;
  double distance = 0;  // ||x_j - x_i||, of the offered vectors
};

// How a codec that remembers does. Plain formats lose nothing that it measures: 1 and 0.
struct CodecReport {
  double quality = 1;            // the mean over the edges
  std::size_t memory_bytes = 0;  // of what is remembered of them
  // The encoding of the last vectors, if these are chosen, and the bytes of one; 0: not known.
  std::string_view chosen = {};
  std::size_t vector_bytes = 0;
};

}  // namespace starling::optim
