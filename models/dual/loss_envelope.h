// LossEnvelope: the Moreau envelope of a row's loss l, smoothed by c >= 0, at a point v:
//   e(v) = min_u l(u) + |u - v|^2 / (2 c) ,   e'(v) = l'(u) = (v - u) / c ;   c = 0: e = l, u = v.
// l is squared, (u - y)^2 / 2, or logistic or cross entropy as in linear/loss.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/linear/loss.h"

namespace starling::models {

// What a row has learned from: a number of squared loss, else a class.
struct RowTruth {
  double target = 0;
  std::int32_t label = 0;
};

class LossEnvelope {
 public:
  LossEnvelope(Loss loss, std::size_t outputs) : loss_(loss), outputs_(outputs), trial_(outputs) {}

  Loss loss() const { return loss_; }
  std::size_t outputs() const { return outputs_; }
  // `u`, of the outputs, holds a guess, and gets the minimiser; `slope` gets e'(v). The second
  // derivative of e is diag(bend) - bend bend^T / sum(bend) of cross entropy, else bend. Returns
  // e(v).
  double at(const RowTruth& truth, double c, std::span<const double> v, std::span<double> u,
            std::span<double> slope, std::span<double> bend);

 private:
  double squared(double y, double c, std::span<const double> v, std::span<double> u,
                 std::span<double> slope, std::span<double> bend) const;
  double logistic(double sign, double c, std::span<const double> v, std::span<double> u,
                  std::span<double> slope, std::span<double> bend) const;
  double cross_entropy(std::size_t label, double c, std::span<const double> v, std::span<double> u,
                       std::span<double> slope, std::span<double> bend);

  Loss loss_;
  std::size_t outputs_;
  std::vector<double> trial_;  // a buffer
};

// What the slopes l'(u) of a row say of its loss l(u), without the truth: a squared error is the
// slope's square; a class is the only one whose slope is below 0, and its slope is its probability
// less 1.
struct RowLoss {
  double loss = 0;
  bool is_right = false;  // of a class: it is the likeliest
};
RowLoss loss_of_slopes(Loss loss, std::span<const double> slopes);

}  // namespace starling::models
