// Exact diffusion by pairs: each node steps at its own speed, and two neighbours at a time
// exchange,
//   phi = x_i + u(g(x_i)) - y_i ;  f = (x_j - phi) / 4 ;
//   x_i = phi + f ,  y_i -= f ;  x_j -= f ,  y_j += f .
// For one node that is exact diffusion with W~ = (I + W) / 2 and pairs of weight 1/2, y being what
// came over the edges; with whom and when is the schedule's (gossip/edges/exchange.h, `pairwise`).
// Where nothing moves any more all x agree, u(g) = y, and the y add up to nothing: the limit is the
// optimum of all data, however much faster one node is than another.
#pragma once

#include "optim/algorithms/exact_diffusion.h"

namespace starling::optim {

template <class S>
using PairwiseEd = ExactDiffusion<S>;

}  // namespace starling::optim
