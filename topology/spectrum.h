// How fast repeated mixing makes everyone agree. With J = 11'/n, one round takes the error x - Jx
// to (W - J) times itself, so what counts is the second eigenvalue modulus of W: the largest
// |lambda| of W - J, which is W without its one eigenvalue 1.
#pragma once

#include <cstdint>
#include <optional>

#include "topology/graph.h"

namespace starling::topology {

// From 0 (one round agrees) to 1 (never, as when not connected). Exact to rounding up to
// kDenseNodesLimit vertices; above, an estimate from below by kStepsLimit products with W.
inline constexpr int kDenseNodesLimit = 512;
inline constexpr int kStepsLimit = 1000;
double second_modulus(const Graph& graph);

inline constexpr double kConsensusReduction = 1e-6;

// The least k with |W^k x - Jx| <= 1e-6 |x - Jx| from the start x_i = U(42, i) of the reference
// problem, |.| Euclidean, which gives every entry of the table of rounds. The usual
// ln(1e-6) / ln(lambda) knows nothing of the start: 265.3 instead of 225 on the ring of 16.
// Counted out as long as that takes below 10^8 multiplications, continued with the rate lambda
// after that. Nothing when not connected.
std::optional<std::uint64_t> rounds_to_consensus(const Graph& graph);
// The same for somebody who knows the second modulus already.
std::optional<std::uint64_t> rounds_to_consensus(const Graph& graph, double second_modulus);

}  // namespace starling::topology
