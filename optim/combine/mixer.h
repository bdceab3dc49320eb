// mix: x_i = s_i + sum_j w_ij (s_j - s_i), the one primitive of decentralised averaging, in one
// pass over memory: a tile of x stays in the first-level cache while every neighbour's is added.
// What was sent stays as it is: the sum goes to another buffer, and x shows that one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optim/codec/codec.h"
#include "optim/combine/reach.h"
#include "optim/job.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

struct MixResult {
  std::vector<NeighborDistance> distances = {};  // of the vectors that were mixed, in their order
  std::vector<std::size_t> mixed = {};           // their places among the terms
  std::vector<double> factors = {};              // on their weights
  std::vector<Rejection> rejections = {};        // of those that were not
};

// The factors on the weights of pairs that lie so far apart; see reach.h.
using Shorten = std::function<std::vector<double>(std::span<const Apart> pairs)>;

// `x` holds s on entry. `sent` is s as the neighbours got it: subtracting what was sent, and not
// the exact value, is what conserves the mean under rounding. Every term has its `own`; one that is
// `sent`, by its address, costs no second pass. A pair with a vector of the wrong size or with a
// number that is not finite is left out, at both of its ends, so that its weight stays with self;
// the reason says whether the vector is this node's own. Where `shorten` changes a weight, memory
// is passed once more. The result goes to `room`, a buffer of x's pool, which may be that of the
// only term's `theirs`; null: to any other.
template <class S>
MixResult mix(SharedVector<S>& x, const Payload& sent, std::span<const MixTerm> terms,
              const Format& format, const Shorten& shorten = {},
              std::shared_ptr<std::byte> room = nullptr);

// ||a - b||^2 of two encoded vectors of `size` numbers. REQUIRES that both fit.
template <class S>
double squared_between(const Payload& a, const Payload& b, std::size_t size, const Format& format);

// flow += w (theirs - own) of the numbers from `first` on, as mix() added it. REQUIRES a term that
// mix() took.
template <class S>
void accumulate(std::span<S> flow, std::size_t first, const MixTerm& term, const Format& format);

}  // namespace starling::optim
