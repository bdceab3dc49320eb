// How fast repeated mixing makes all nodes agree. With J = 11'/n, one round takes the error x - Jx
// to (W - J) times itself, so what counts is the second eigenvalue modulus of W: the largest
// |lambda| of W - J, which is W without its one eigenvalue 1.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "topology/graph.h"

namespace starling::topology {

class Sequence;

// From 0 (one round agrees) to 1 (never, as when not connected). Exact to rounding up to
// kDenseNodesLimit vertices; above, an estimate from below by kStepsLimit products with W.
inline constexpr int kDenseNodesLimit = 512;
inline constexpr int kStepsLimit = 1000;
// With a share below 1, of (1 - share) I + share W.
double second_modulus(const Graph& graph, double share = 1);

// The factor on the error in a round of random matchings (matching.h), each with a new W: the root
// of the second eigenvalue of E[M^2], M = (1 - share) I + share W. Pairs weigh half, so W^2 = W and
// E[M^2] = I - (2 share - share^2) (I - E[W]). On the complete graph all edges are drawn equally
// often; otherwise the frequencies are those in kMatchingsDrawn matchings. `most`: pairs of one
// matching. REQUIRES an undirected graph.
inline constexpr int kMatchingsDrawn = 512;
double matching_modulus(const Graph& graph, double share = 1,
                        int most = std::numeric_limits<int>::max());

// Sequence::modulus() of one that repeats: the mean growth of the error over the second half of so
// many periods. 0: the first period leaves less than rounding does.
inline constexpr int kPeriodsDone = 64;
double periodic_modulus(const Sequence& sequence, double share);

inline constexpr double kConsensusReduction = 1e-6;

// The least k with |W^k x - Jx| <= 1e-6 |x - Jx| from the start x_i = U(42, i) of the reference
// problem, |.| Euclidean, which gives every entry of the table of rounds. The usual ln(1e-6) /
// ln(lambda) ignores the start: 265.3 instead of 225 on the ring of 16. Computed exactly up to 10^8
// multiplications, then extrapolated with the rate lambda. Nothing when not connected.
std::optional<std::uint64_t> rounds_to_consensus(const Graph& graph, double second_modulus);
// The same of a sequence of graphs; nothing if kSequenceRoundsLimit do not reach it.
inline constexpr std::uint64_t kSequenceRoundsLimit = 100'000;
std::optional<std::uint64_t> rounds_to_consensus(const Sequence& sequence, int n);

}  // namespace starling::topology
