// Loss: the loss of a model's outputs, and its derivative by the outputs.
//   squared         (z - y)^2 / 2                 one output, y a target
//   logistic        log(1 + exp(-s z))            one output, s = -1 for class 0, +1 for class 1
//   cross_entropy   log(sum_c exp(z_c)) - z_y     one output a class, y a label
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/linear/kernels.h"

namespace starling::models {

enum class Loss { squared, logistic, cross_entropy };

// Sums over samples.
struct Score {
  double loss = 0;
  double squared_error = 0;  // (z - y)^2
  std::size_t correct = 0;   // samples whose class is the likeliest, the lowest of equals

  void operator+=(const Score& other) {
    loss += other.loss;
    squared_error += other.squared_error;
    correct += other.correct;
  }
};

// The truth for each row of a block: labels or, for squared, targets.
template <class S>
struct Truth {
  const std::int32_t* labels = nullptr;
  const S* targets = nullptr;
  const S* weights = nullptr;  // of a row's loss, by its label; null: 1
};

// Replaces the outputs, extent.rows x extent.columns, by `scale` times the derivative of the loss.
template <class S>
Score take_loss(Loss loss, Extent extent, Truth<S> truth, S scale, S* outputs);

}  // namespace starling::models
