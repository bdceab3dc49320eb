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

// The two ends of an edge among the nodes that sum slices in a round; see combine/slices.h.
struct Slot {
  std::uint64_t round = 0;
  std::size_t nodes = 0;            // all, and
  std::size_t hubs = 0;             // those that sum; every node counts them alike
  std::size_t own = 0, theirs = 0;  // places among the hubs; `hubs`: it is none
  NodeId peer = {};                 // the other end

  bool operator==(const Slot&) const = default;
};

// A vector by its number on an edge.
struct EdgePlace {
  std::uint64_t edge = 0;    // the edge id; see Job::edges
  std::uint64_t number = 0;  // from 1; both vectors of a pair have the same
  // How far to shorten its message, with exchange.codec = auto; see codec/ladder.h.
  std::size_t shortening = 1;
  Slot slot = {};
};

// A vector that is encoded for one neighbour alone.
struct EdgeOffer {
  std::uint64_t edge = 0;
  Payload payload = {};
  std::uint64_t number = 0;  // as in EdgePlace; 0: none was given
  // The largest factor in [0, 1] on the weight of the pair that this end allows, and m of the edge
  // with this vector; see codec/quality.h.
  double theta = 1, quality = 1;
  // The bytes that its message would have if it were not shortened, with exchange.codec=auto.
  std::size_t unshortened = 0;
};

// A term of the average: the pair of vectors that two neighbours exchanged.
struct MixTerm {
  NodeId peer;
  // Mixing weight w_ij >= 0, multiplied by theta where Needs::in_order. The weights of a round's
  // terms sum to less than 1. 0: the pair is recorded and moves nothing.
  double weight = 0;
  Payload theirs;  // a whole vector in the format of the run
  // The own vector that theirs is averaged with, of this round or an earlier one. The last offer,
  // known by its address, costs no extra pass. Empty if each neighbour has a vector of its own that
  // is not encoded against earlier ones.
  Payload own = {};
  std::uint64_t edge = 0;  // the id of the edge that it came over; see Job::edges
  // Sum of the learning rates of the local steps since the previous vector on that edge, or more
  // where pairs come at uneven times: the larger of the two ends', so equal at both ends. 0 without
  // steps. With Needs::in_order divided by theta.
  double span = 0;
  std::uint64_t number = 0;  // as in EdgePlace, with Needs::in_order
  double theta = 1;          // the smaller of the two ends' EdgeOffer::theta
  // The smaller reach of the two ends; see combine/reach.h. 0: neither sends one. Nothing: the peer
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
  // The encodings of the edges' last vectors, if these are chosen ("f32, i4"), and the mean of the
  // bytes of one; 0: not known.
  std::string chosen = {};
  std::size_t vector_bytes = 0;
};

}  // namespace starling::optim
