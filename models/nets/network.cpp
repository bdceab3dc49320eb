#include "models/nets/network.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"
#include "models/linear/gemm.h"

namespace starling::models {

template <class S>
Network<S>::Network(NetworkShape shape) : shape_(std::move(shape)) {
  ENSURE(shape_.sizes.size() >= 2, "a network has inputs and outputs");
  for (std::size_t l = 0; l + 1 < shape_.sizes.size(); ++l) {
    Layer& layer = layers_.emplace_back();
    layer.inputs = shape_.sizes[l];
    layer.outputs = shape_.sizes[l + 1];
    layer.weights = dimension_;
    dimension_ = layer.biases() + (shape_.bias ? layer.outputs : 0);
  }
}

template <class S>
void Network<S>::initialize(std::span<S> x, std::uint64_t seed) const {
  std::ranges::fill(x, S{0});
  if (layers_.size() == 1) return;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const double variance =
        (l + 1 < layers_.size() ? 2.0 : 1.0) / static_cast<double>(layer.inputs);
    const double deviation = std::sqrt(variance);
    Prng prng = Prng::derive(seed, l);
    for (S& weight : x.subspan(layer.weights, layer.inputs * layer.outputs))
      weight = static_cast<S>(deviation * prng.normal());
  }
}

template <class S>
void Network<S>::forward(std::span<const S> x, const Block<S>& block) {
  const S* inputs = block.inputs;
  for (Layer& layer : layers_) {
    if (layer.values.size() < block.rows * layer.outputs)
      layer.values.resize(block.rows * layer.outputs);
    gemm({.rows = block.rows, .columns = layer.outputs, .inner = layer.inputs}, inputs,
         x.data() + layer.weights, layer.values.data());
    const bool last = &layer == &layers_.back();
    ENSURE(last || shape_.bias, "only a linear model may lack a bias");
    if (shape_.bias)
      add_bias({.rows = block.rows, .columns = layer.outputs}, !last, x.data() + layer.biases(),
               layer.values.data());
    inputs = layer.values.data();
  }
}

template <class S>
std::span<const S> Network<S>::outputs(std::span<const S> x, const Block<S>& block) {
  forward(x, block);
  return std::span(layers_.back().values).first(block.rows * layers_.back().outputs);
}

template <class S>
Score Network<S>::score(std::span<const S> x, const Block<S>& block) {
  forward(x, block);
  Layer& last = layers_.back();
  return take_loss<S>(shape_.loss, {.rows = block.rows, .columns = last.outputs}, block.truth, S{1},
                      last.values.data());
}

template <class S>
Score Network<S>::add_gradient(std::span<const S> x, const Block<S>& block, S scale, bool first,
                               std::span<S> gradient) {
  forward(x, block);
  Layer& last = layers_.back();
  const Score score = take_loss<S>(shape_.loss, {.rows = block.rows, .columns = last.outputs},
                                   block.truth, scale, last.values.data());
  const S* delta = last.values.data();
  for (std::size_t l = layers_.size() - 1; l > 0; --l) {
    const Layer& layer = layers_[l];
    Layer& below = layers_[l - 1];
    add_layer_gradient(layer, block.rows, below.values.data(), delta, first, gradient);
    if (below.delta.size() < block.rows * below.outputs)
      below.delta.resize(block.rows * below.outputs);
    gemm(
        {.rows = block.rows, .columns = layer.inputs, .inner = layer.outputs, .b_transposed = true},
        delta, x.data() + layer.weights, below.delta.data());
    mask_relu({.rows = block.rows, .columns = below.outputs}, below.values.data(),
              below.delta.data());
    delta = below.delta.data();
  }
  add_layer_gradient(layers_.front(), block.rows, block.inputs, delta, first, gradient);
  return score;
}

template <class S>
void Network<S>::add_layer_gradient(const Layer& layer, std::size_t rows, const S* inputs,
                                    const S* delta, bool first, std::span<S> gradient) const {
  gemm({.rows = layer.inputs,
        .columns = layer.outputs,
        .inner = rows,
        .a_transposed = true,
        .accumulate = !first},
       inputs, delta, gradient.data() + layer.weights);
  if (!shape_.bias) return;
  if (first) std::fill_n(gradient.data() + layer.biases(), layer.outputs, S{0});
  add_column_sums({.rows = rows, .columns = layer.outputs}, delta,
                  gradient.data() + layer.biases());
}

template <class S>
double Network<S>::add_penalty(std::span<const S> x, double l2, std::span<S> gradient) const {
  if (l2 == 0) return 0;
  double squares = 0;
  for (const Layer& layer : layers_)
    for (std::size_t i = layer.weights; i < layer.biases(); ++i) {
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      gradient[i] += static_cast<S>(l2) * x[i];
    }
  return l2 / 2 * squares;
}

template class Network<float>;
template class Network<double>;

}  // namespace starling::models
