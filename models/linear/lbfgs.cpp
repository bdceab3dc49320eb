#include "models/linear/lbfgs.h"

#include <cmath>
#include <deque>
#include <numeric>

namespace starling::models {
namespace {

constexpr std::size_t kPairsKept = 10;
constexpr std::size_t kHalvingsLimit = 20;
constexpr double kLeastDescent = 1e-4;  // of what the slope promises

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// y += factor x
void add(double factor, const Vector& x, Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}

// s = x_{k+1} - x_k, y = g_{k+1} - g_k.
struct Correction {
  Vector s, y;
  double product = 0;  // <s, y> > 0
};

// -H g, H the inverse of the Hessian as the pairs have it: the two loops of the paper.
Vector direction(const std::deque<Correction>& pairs, const Vector& gradient) {
  Vector d = gradient;
  std::vector<double> alphas;
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    alphas.push_back(dot(pair->s, d) / pair->product);
    add(-alphas.back(), pair->y, d);
  }
  const double scale = pairs.empty() ? 1 / std::max(1.0, std::sqrt(dot(gradient, gradient)))
                                     : pairs.back().product / dot(pairs.back().y, pairs.back().y);
  for (double& value : d) value *= -scale;
  for (const Correction& pair : pairs) {
    add(-alphas.back() - dot(pair.y, d) / pair.product, pair.s, d);
    alphas.pop_back();
  }
  return d;
}

}  // namespace

void lbfgs(const Function& function, const LbfgsOptions& options, std::vector<double>& x) {
  std::deque<Correction> pairs;
  Vector gradient(x.size()), next_gradient(x.size());
  double value = function(x, gradient);
  const double least = options.tolerance * std::sqrt(dot(gradient, gradient));
  for (std::size_t k = 0; k < options.iterations_limit; ++k) {
    if (!(std::sqrt(dot(gradient, gradient)) > least)) return;
    const Vector d = direction(pairs, gradient);
    const double slope = dot(d, gradient);
    double step = 1;
    Vector next;
    for (std::size_t halving = 0;; ++halving, step /= 2) {
      if (halving == kHalvingsLimit) return;
      next = x;
      add(step, d, next);
      const double there = function(next, next_gradient);
      if (!(there <= value + kLeastDescent * step * slope)) continue;
      value = there;
      break;
    }
    Correction pair{d, next_gradient, 0};
    for (double& s : pair.s) s *= step;
    add(-1, gradient, pair.y);
    pair.product = dot(pair.s, pair.y);
    if (pair.product > 0) pairs.push_back(std::move(pair));
    if (pairs.size() > kPairsKept) pairs.pop_front();
    x = std::move(next);
    gradient.swap(next_gradient);
  }
}

}  // namespace starling::models
