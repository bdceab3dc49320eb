// mix: x_i = s_i + sum_j w_ij (s_j - s_i), the one primitive of decentralised averaging, in one
// pass over memory: a tile of x stays in the first-level cache while every neighbour's is added.
// The sent vector does not change: the sum is written to another buffer, and x becomes that one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "optim/codec/codec.h"
#include "optim/combine/reach.h"
#include "optim/edge_vectors.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

struct MixResult {
  std::vector<NeighborDistance> distances = {};  // of the mixed terms, in their order
  std::vector<std::size_t> mixed = {};           // their indices among the terms
  std::vector<double> factors = {};              // on the weights of these
  std::vector<Rejection> rejections = {};        // of terms that were left out
};

// The flow that counts a term: `flow` += factor (theirs - own), over the last flow.size() numbers
// of s.
template <class S>
struct FlowCount {
  std::span<S> flow;
  double factor;
};

// Returns the factor on the weight of each pair, by its distance; see reach.h.
using Shorten = std::function<std::vector<double>(std::span<const Apart> pairs)>;

// `x` holds s on entry and the average on return. `sent` is s as the neighbours received it:
// subtracting `sent`, and not the exact s, conserves the mean under rounding. Every term has its
// `own`; if that is `sent`, by its address, it is read only once for all terms. A pair with a
// vector of the wrong size or with a number that is not finite is left out at both ends, so its
// weight stays with s; the reason says whether the vector is this node's own. If `shorten` changes
// a weight, memory is passed once more. The result is written to `room`, a buffer of x's pool and
// possibly that of the only term's `theirs`; null: to any other.
template <class S>
MixResult mix(SharedVector<S>& x, const Payload& sent, std::span<const MixTerm> terms,
              const Format& format, const Shorten& shorten = {},
              std::shared_ptr<std::byte> room = nullptr);

// ||a - b||^2 of two encoded vectors of `size` numbers. REQUIRES that both fit.
template <class S>
double squared_between(const Payload& a, const Payload& b, std::size_t size, const Format& format);

// flow += w (theirs - own) of the numbers from `first` on, as mix() added it. REQUIRES a term that
// mix() has mixed.
template <class S>
void accumulate(std::span<S> flow, std::size_t first, const MixTerm& term, const Format& format);

}  // namespace starling::optim
