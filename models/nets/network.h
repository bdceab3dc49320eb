// Network: fully connected layers with relu between them, and a loss on the last. Without a hidden
// layer it is linear regression, logistic regression or softmax regression, after its loss.
//
// For layer l = 1 .. L and a block of rows X = A_0:
//   Z_l = A_{l-1} W_l + b_l,  A_l = relu(Z_l),  loss of Z_L
// and backwards, with D_L the derivative of the loss by Z_L:
//   dW_l = A_{l-1}^T D_l,  db_l = column sums of D_l,  D_{l-1} = (D_l W_l^T) where A_{l-1} > 0
//
// Parameters in memory: W_1 (inputs x outputs, row-major), b_1, W_2, b_2, …; no b without bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/linear/loss.h"

namespace starling::models {

struct NetworkShape {
  std::vector<std::size_t> sizes;  // inputs, hidden layers, outputs; at least two
  Loss loss = Loss::squared;
  bool bias = true;
};

// Rows of inputs, row-major, with their labels or targets.
template <class S>
struct Block {
  std::size_t rows = 0;
  const S* inputs = nullptr;
  Truth<S> truth;
};

template <class S>
class Network {
 public:
  explicit Network(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  std::size_t dimension() const { return dimension_; }
  // Zero without a hidden layer, where every start has the same limit. Otherwise weights are normal
  // of variance 2 / inputs (He, Zhang, Ren, Sun: Delving deep into rectifiers, 2015), 1 / inputs
  // for the last layer, and biases zero.
  void initialize(std::span<S> x, std::uint64_t seed) const;

  // The outputs for the block's inputs, rows x outputs, row-major, before any loss; valid until the
  // next call.
  std::span<const S> outputs(std::span<const S> x, const Block<S>& block);
  Score score(std::span<const S> x, const Block<S>& block);
  // Adds `scale` times the gradient of the block's summed loss; overwrites instead if `first`.
  Score add_gradient(std::span<const S> x, const Block<S>& block, S scale, bool first,
                     std::span<S> gradient);
  // l2 / 2 times the squares of the weights, biases excluded, whose gradient is added.
  double add_penalty(std::span<const S> x, double l2, std::span<S> gradient) const;

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t weights = 0;  // offset in the parameters; biases follow
    std::vector<S> values;    // A_l, or Z_L and then D_L; block rows x outputs
    std::vector<S> delta;     // D_l; empty for the last layer

    std::size_t biases() const { return weights + inputs * outputs; }
  };

  void forward(std::span<const S> x, const Block<S>& block);
  void add_layer_gradient(const Layer& layer, std::size_t rows, const S* inputs, const S* delta,
                          bool first, std::span<S> gradient) const;

  NetworkShape shape_;
  std::vector<Layer> layers_;
  std::size_t dimension_ = 0;
};

extern template class Network<float>;
extern template class Network<double>;

}  // namespace starling::models
