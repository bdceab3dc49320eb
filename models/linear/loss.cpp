#include "models/linear/loss.h"

#include <algorithm>
#include <cmath>

namespace starling::models {
namespace {

// The sum of many log(1 + e), e in [0, 1], with one logarithm for a few hundred of them.
class LogSum {
 public:
  void add(double e) {
    product_ *= 1 + e;
    if (product_ > 1e300) fold();
  }
  double finish() {
    fold();
    return sum_;
  }

 private:
  void fold() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1;
  double sum_ = 0;
};

template <class S>
Score squared(std::size_t rows, const S* targets, S scale, S* z) {
  Score score;
  for (std::size_t r = 0; r < rows; ++r) {
    const S error = z[r] - targets[r];
    score.squared_error += static_cast<double>(error) * static_cast<double>(error);
    z[r] = scale * error;
  }
  score.loss = score.squared_error / 2;
  return score;
}

// With m = s z and e = exp(-|m|): loss = max(0, -m) + log(1 + e), and the derivative by m is
// -1 / (1 + exp(m)), which is -e / (1 + e) for m > 0 and -1 / (1 + e) otherwise.
template <class S>
Score logistic(std::size_t rows, const Truth<S>& truth, S scale, S* z) {
  Score score;
  LogSum logs;
  for (std::size_t r = 0; r < rows; ++r) {
    const S sign = truth.labels[r] > 0 ? S{1} : S{-1};
    const S weight = truth.weights ? truth.weights[truth.labels[r]] : S{1};
    const S margin = sign * z[r];
    score.correct += (z[r] > 0) == (sign > 0) ? 1 : 0;
    const S e = std::exp(-std::abs(margin));
    score.loss += static_cast<double>(weight * std::max(S{0}, -margin));
    if (truth.weights)
      score.loss += static_cast<double>(weight * std::log1p(e));
    else
      logs.add(static_cast<double>(e));
    z[r] = -sign * weight * scale * (margin > 0 ? e : S{1}) / (1 + e);
  }
  score.loss += logs.finish();
  return score;
}

template <class S>
Score cross_entropy(Extent extent, const Truth<S>& truth, S scale, S* z) {
  Score score;
  for (std::size_t r = 0; r < extent.rows; ++r, z += extent.columns) {
    const S* const likeliest = std::max_element(z, z + extent.columns);
    const S largest = *likeliest;
    const auto label = static_cast<std::size_t>(truth.labels[r]);
    const S weight = truth.weights ? truth.weights[label] : S{1};
    score.correct += likeliest == z + label ? 1 : 0;
    const S right = z[label] - largest;
    S sum = 0;
    for (std::size_t c = 0; c < extent.columns; ++c) sum += z[c] = std::exp(z[c] - largest);
    const S factor = weight * scale / sum;
    for (std::size_t c = 0; c < extent.columns; ++c) z[c] *= factor;
    z[label] -= weight * scale;
    score.loss += static_cast<double>(weight * (std::log(sum) - right));
  }
  return score;
}

}  // namespace

template <class S>
Score take_loss(Loss loss, Extent extent, Truth<S> truth, S scale, S* outputs) {
  switch (loss) {
    case Loss::squared:
      return squared(extent.rows, truth.targets, scale, outputs);
    case Loss::logistic:
      return logistic(extent.rows, truth, scale, outputs);
    case Loss::cross_entropy:
      break;
  }
  return cross_entropy(extent, truth, scale, outputs);
}

template Score take_loss(Loss, Extent, Truth<float>, float, float*);
template Score take_loss(Loss, Extent, Truth<double>, double, double*);

}  // namespace starling::models
