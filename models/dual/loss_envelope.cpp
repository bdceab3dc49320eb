#include "models/dual/loss_envelope.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace starling::models {
namespace {

constexpr int kNewtonSteps = 100, kHalvings = 40;
constexpr double kPrecision = 1e-15;  // of u, beside its size
// A probability that is farther from 0 and 1 than rounding.
constexpr double kLeastProbability = 1e-15;

// log(1 + exp(z)), for any z.
double softplus(double z) {
  return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

// 1 / (1 + exp(-z)).
double sigmoid(double z) {
  return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

// Replaces scores by probabilities; returns the logarithm of the sum of the exponentials.
double softmax(std::span<double> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return largest + std::log(sum);
}

double squared_gap(std::span<const double> a, std::span<const double> b) {
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                               [](double x, double y) { return (x - y) * (x - y); });
}

}  // namespace

double LossEnvelope::at(const RowTruth& truth, double c, std::span<const double> v,
                        std::span<double> u, std::span<double> slope, std::span<double> bend) {
  switch (loss_) {
    case Loss::squared:
      return squared(truth.target, c, v, u, slope, bend);
    case Loss::logistic:
      return logistic(truth.label == 0 ? -1 : 1, c, v, u, slope, bend);
    case Loss::cross_entropy:
      break;
  }
  return cross_entropy(static_cast<std::size_t>(truth.label), c, v, u, slope, bend);
}

double LossEnvelope::squared(double y, double c, std::span<const double> v, std::span<double> u,
                             std::span<double> slope, std::span<double> bend) const {
  slope[0] = (v[0] - y) / (1 + c);
  u[0] = y + slope[0];
  bend[0] = 1 / (1 + c);
  return (v[0] - y) * slope[0] / 2;
}

// u solves u - v = c s sigmoid(-s u), whose sides cross once, between v and v + c s.
double LossEnvelope::logistic(double sign, double c, std::span<const double> v, std::span<double> u,
                              std::span<double> slope, std::span<double> bend) const {
  double low = std::min(v[0], v[0] + c * sign), high = std::max(v[0], v[0] + c * sign);
  double at = std::clamp(u[0], low, high), wrong = 0;
  for (int step = 0; step < kNewtonSteps; ++step) {
    wrong = sigmoid(-sign * at);
    const double gap = at - v[0] - c * sign * wrong;
    (gap > 0 ? high : low) = at;
    double next = at - gap / (1 + c * wrong * (1 - wrong));
    if (!(next >= low && next <= high)) next = (low + high) / 2;
    const double moved = std::abs(next - at);
    at = next;
    if (moved <= kPrecision * (1 + std::abs(at))) break;
  }
  wrong = sigmoid(-sign * at);
  u[0] = at;
  slope[0] = -sign * wrong;
  const double curvature = wrong * (1 - wrong);
  bend[0] = curvature / (1 + c * curvature);
  return softplus(-sign * at) + c * wrong * wrong / 2;
}

// u solves u - v + c (p - e_y) = 0 with p = softmax(u), by Newton steps that are halved until
// |u - v|^2 / 2 + c l(u) descends. The matrix I + c (diag(p) - p p^T) is inverted in closed form.
double LossEnvelope::cross_entropy(std::size_t label, double c, std::span<const double> v,
                                   std::span<double> u, std::span<double> slope,
                                   std::span<double> bend) {
  const std::size_t count = outputs_;
  if (c == 0) std::ranges::copy(v, u.begin());
  // Writes the probabilities at u into `slope`; returns the value.
  const auto value_at = [&](std::span<const double> point) {
    std::ranges::copy(point, slope.begin());
    const double all = softmax(slope);
    return squared_gap(point, v) / 2 + c * (all - point[label]);
  };
  double value = value_at(u);
  for (int step = 0; step < kNewtonSteps && c > 0; ++step) {
    double turn = 0, sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double gap = u[k] - v[k] + c * (slope[k] - (k == label ? 1 : 0));
      const double scale = 1 + c * slope[k];
      bend[k] = gap / scale;
      turn += slope[k] * gap / scale;
      sum += slope[k] / scale;
    }
    double most = 0;
    for (std::size_t k = 0; k < count; ++k) {
      bend[k] += c * slope[k] / (1 + c * slope[k]) * turn / sum;
      most = std::max(most, std::abs(bend[k]) / (1 + std::abs(u[k])));
    }
    double factor = 1, reached = value;
    for (int halving = 0; halving < kHalvings; ++halving, factor /= 2) {
      for (std::size_t k = 0; k < count; ++k) trial_[k] = u[k] - factor * bend[k];
      reached = value_at(trial_);
      if (reached <= value || most <= 1e-7) break;
    }
    std::ranges::copy(trial_, u.begin());
    value = reached;
    if (most <= kPrecision) break;
  }
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += bend[k] = slope[k] / (1 + c * slope[k]);
  slope[label] -= 1;
  const double loss = -std::log(std::max(slope[label] + 1, kLeastProbability));
  return c > 0 ? value / c : loss;
}

RowLoss loss_of_slopes(Loss loss, std::span<const double> slopes) {
  if (loss == Loss::squared) return {slopes[0] * slopes[0] / 2, false};
  if (loss == Loss::logistic) {
    const double right = std::max(1 - std::abs(slopes[0]), kLeastProbability);
    return {-std::log(right), right > 0.5};
  }
  const auto least = std::ranges::min_element(slopes);
  const double right = std::clamp(1 + *least, kLeastProbability, 1.0);
  const auto others_most = *std::ranges::max_element(slopes);
  return {-std::log(right), right > others_most};
}

}  // namespace starling::models
