// lbfgs: the minimum of a smooth convex function of many variables, by few gradients.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace starling::models {

struct LbfgsOptions {
  std::size_t iterations_limit = 100;
  double tolerance = 1e-4;  // ends where ||gradient|| is this part of what it was at the start
};

// Writes the gradient at x, and returns the function's value there.
using Function = std::function<double(std::span<const double> x, std::span<double> gradient)>;

// Moves x towards the minimum. Liu, Nocedal: On the limited memory BFGS method for large scale
// optimization, 1989; steps are halved until they descend (Armijo).
void lbfgs(const Function& function, const LbfgsOptions& options, std::vector<double>& x);

}  // namespace starling::models
