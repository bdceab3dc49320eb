// Reach: how far neighbours may pull a model. A node's reach tau is the (b+1)-th largest of the
// last distances ||s_j - s_i|| over its edges, b being the assumed number of liars among its
// neighbours: CS+ of Gaucher, Dieuleveut, Hendrikx, "Unified Breakdown Analysis for Byzantine
// Robust Gossip" (2025); but a round multiplies it by no less than kFall. Each end sends its reach
// with its vector, and the smaller of both applies:
//   s_i += w c (s_j - s_i) ,   c = min(1, tau / d) ,   d = ||s_j - s_i|| ,
// so both ends of an edge shorten alike, and what one gains the other loses. With b = 1, a node of
//   1 edge                       sends no reach: it has nothing to compare the edge with
//   3 edges, at most 1 measured  sends kNothing: its pairs are only measured
//   3 edges, 2 or 3 measured     sends the second largest distance
// If at most b edges are still unmeasured kSilence rounds after the last edge opened, they count as
// infinitely long: their neighbours are taken for the liars.
//
// Under every rule a vector is refused if its distance exceeds both kFar ||s_i|| and kFar times the
// distance of every other neighbour. No honest node is that far away: it starts near the others and
// moves by steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "optim/aggregation.h"
#include "optim/edge_vectors.h"

namespace starling::optim {

// Larger: a lie pulls further before it is refused. Smaller: a node with a small ||s_i||, which a
// model of few numbers may have by chance, refuses honest vectors.
inline constexpr double kFar = 1000;
// The least factor on the reach in a round. Larger: after the models have converged, a lie pulls as
// far as before for longer. Smaller: the reach falls so fast that a model that lags never arrives,
// because all its further moves add up to at most reach / (1 - kFall).
inline constexpr double kFall = 0.99;
// The reach sent before more than b edges are measured; only equal vectors lie within it.
inline constexpr double kNothing = 1e-30;

// In rounds. Larger: a neighbour that sends no valid vector stops a node with few edges from
// averaging for longer. Smaller: a liar that sends before honest neighbours is compared with none.
inline constexpr std::size_t kSilence = 16;

// A pair of vectors and the distance between them.
struct Apart {
  const MixTerm* term = nullptr;
  double distance = 0;
};

class Reach {
 public:
  explicit Reach(const Aggregation& aggregation) : aggregation_(aggregation) {}

  // Sets the open edges; deletes the distances of all others.
  void keep(std::span<const std::uint64_t> edges);
  // The reach to send; 0: none.
  double told() const;
  // Records the distances of some pairs of a round and returns their c, 0 for one that is refused.
  // `own_length` computes ||s_i||; it is called only if needed.
  std::vector<double> factors(std::span<const Apart> pairs,
                              const std::function<double()>& own_length);
  // Updates the reach, after factors() of all pairs of a round.
  void end_round();
  const Aggregation& aggregation() const { return aggregation_; }

 private:
  std::size_t silent() const;
  double measured() const;
  bool is_far(const Apart& pair, const std::function<double()>& own_length);

  Aggregation aggregation_;
  std::vector<std::uint64_t> open_;            // ids of the open edges
  std::size_t rounds_ = 0;                     // since the last of them opened, up to kSilence
  std::map<std::uint64_t, double> distances_;  // by edge id
  double reach_ = 0;                           // after the last round; 0: not measured
  double own_length_ = 0;                      // ||s_i|| as last computed
};

}  // namespace starling::optim
