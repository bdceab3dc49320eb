// Reach: how far neighbours may pull a model. Of the last distances ||s_j - s_i|| over a node's
// edges, the (b+1)-th largest is its reach tau, b being the liars that are assumed among its
// neighbours: CS+ of Gaucher, Dieuleveut, Hendrikx, "Unified Breakdown Analysis for Byzantine
// Robust Gossip" (2025); but it falls by kFall a round at most. Each end tells its reach with its
// vector, and the lesser of both counts:
//   s_i += w c (s_j - s_i) ,   c = min(1, tau / d) ,   d = ||s_j - s_i|| ,
// so that both ends of an edge shorten alike, and what one gains the other loses. A node that has
// not measured more than b edges yet tells kNothing, and its pairs are only measured; one that has
// at most b edges has nothing to compare them with, and tells no reach. Up to b edges over which no
// vector that can be compared has come for kSilence rounds count as infinitely long: their
// neighbours are taken for the liars.
//
// Under every rule a vector is refused that lies kFar times as far from the own one as the own is
// long and as all other neighbours are away: no honest node gets there, for it starts near the
// others and moves by steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "optim/aggregation.h"
#include "optim/job.h"

namespace starling::optim {

// Larger: a lie pulls further before it is refused. Smaller: a node whose model is short, as one
// of few numbers may be by chance, refuses honest ones.
inline constexpr double kFar = 1000;
// What the reach keeps of itself in a round. Larger: a lie pulls as far as before for longer after
// the models have come together. Smaller: they come together so fast that a model that lagged never
// arrives, for what it may still move in all is the reach over 1 - kFall.
inline constexpr double kFall = 0.99;
// The reach of a node that has not measured its edges: a pair within it is equal.
inline constexpr double kNothing = 1e-30;

// Larger: a neighbour that sends nothing sound keeps a node with few edges from averaging for
// longer. Smaller: a liar that sends before honest neighbours do is compared with nothing.
inline constexpr std::size_t kSilence = 16;

// A pair of vectors that lie so far apart.
struct Apart {
  const MixTerm* term = nullptr;
  double distance = 0;
};

class Reach {
 public:
  explicit Reach(const Aggregation& aggregation) : aggregation_(aggregation) {}

  // The edges that are open; forgets all others.
  void keep(std::span<const std::uint64_t> edges);
  // tau; 0: none.
  double told() const;
  // c of some pairs of a round, 0 for one that is refused; takes note of their distances.
  // `own_length`: of the own vector.
  std::vector<double> factors(std::span<const Apart> pairs,
                              const std::function<double()>& own_length);
  // All pairs of the round are noted.
  void end_round();
  const Aggregation& aggregation() const { return aggregation_; }

 private:
  std::size_t silent() const;
  double measured() const;
  bool is_far(const Apart& pair, const std::function<double()>& own_length);

  Aggregation aggregation_;
  std::vector<std::uint64_t> open_;            // edges
  std::size_t rounds_ = 0;                     // since the last of them opened
  std::map<std::uint64_t, double> distances_;  // by edge
  double reach_ = 0;                           // after the last round; 0: not measured
  double own_length_ = 0;                      // when it was last asked for
};

}  // namespace starling::optim
