// The reference problem (docs/algorithms.md), written down directly: node i holds
//   F_i(x) = ||A_i x - b_i||^2 / (2 m) ,
// all numbers drawn from mix64, full gradients, start at zero, known optimum of the mean.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "optim/local/objective.h"
#include "optim/trainer.h"
#include "sim/options.h"

namespace starling::test {

struct ReferenceShape {
  std::size_t n = 16, d = 10, m = 20;
  double h = 1.0, noise = 0.1;
  std::uint64_t seed = 1000;

  auto operator<=>(const ReferenceShape&) const = default;
};

// What node `i` minimises.
std::unique_ptr<optim::Objective<double>> reference_objective(const ReferenceShape& shape,
                                                              std::size_t i);

// The same in the numbers of S: float or double. Where it has no closed form, minimize() says so.
template <class S>
std::unique_ptr<optim::Objective<S>> reference_objective_in(const ReferenceShape& shape,
                                                            std::size_t i,
                                                            bool has_closed_form = true);

// Where the mean of what these nodes minimise is least; one that is named twice counts twice.
std::vector<double> reference_optimum(const ReferenceShape& shape,
                                      const std::vector<std::size_t>& nodes);
// Where sum_i weights[i] F_i is least, node i having the shape shapes[i].
std::vector<double> weighted_optimum(const std::vector<ReferenceShape>& shapes,
                                     const std::vector<double>& weights);

// The largest curvature of what a node minimises.
double curvature(const ReferenceShape& shape);

// Full gradients in double, as the table of the reference problem has them.
optim::Options reference_training(double learning_rate);

// The first `relays` nodes have no data.
sim::TrainerFactory reference_trainers(const optim::Options& options, ReferenceShape shape = {},
                                       std::size_t relays = 0);

// `nodes` nodes of one algorithm on one topology, on a fast network.
sim::Options reference_world(std::size_t nodes, topology::Kind kind,
                             const optim::Options& training);

}  // namespace starling::test
