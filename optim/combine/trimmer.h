// trim: the coordinate-wise trimmed mean of Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust
// Distributed Learning" (2018), with the weights of the edges:
//   x = s + sum_j w_j d_j ,  d_j = theirs_j - own_j ,
// in each coordinate without the b largest and the b smallest among the d_j and 0, this node's own.
#pragma once

#include <cstddef>
#include <span>

#include "optim/combine/mixer.h"

namespace starling::optim {

// As mix(), without Shorten. All factors are 1, also of vectors that were trimmed.
template <class S>
MixResult trim(std::span<S> x, std::span<const MixTerm> terms, const Format& format,
               std::size_t liars);

}  // namespace starling::optim
