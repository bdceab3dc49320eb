// Asynchronous decentralised parallel SGD (Lian et al., Asynchronous decentralized parallel
// stochastic gradient descent, 2018): each node steps at its own speed, and two neighbours at a
// time move to their mean,
//   x_i -= gamma g_i(x_i) ;   x_i, x_j = (x_i + x_j) / 2 .
// For one node that is D-PSGD; with whom and when is the schedule's (gossip/edges/exchange.h,
// `pairwise`), which gives each pair the weight 1/2. Who steps more often counts for more in the
// limit.
#pragma once

#include "optim/algorithms/dpsgd.h"

namespace starling::optim {

template <class S>
using Adpsgd = Dpsgd<S>;

}  // namespace starling::optim
