#include "models/nets/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "base/prng.h"
#include "models/nets/layer_registry.h"

namespace starling::models {
namespace {

template <class S>
std::unique_ptr<Layer<S>> make_layer(const LayerPlan& plan) {
  if constexpr (std::is_same_v<S, float>)
    return plan.spec.row->make.in_single(plan);
  else
    return plan.spec.row->make.in_double(plan);
}

}  // namespace

template <class S>
Network<S>::Network(NetworkShape shape) : shape_(std::move(shape)), widest_(shape_.input.size) {
  const auto plans = plan_layers(shape_);
  ENSURE(plans, "a network's layers fit");
  for (const LayerPlan& plan : *plans) {
    levels_.push_back({.layer = make_layer<S>(plan),
                       .plan = plan,
                       .offset = dimension_,
                       .values = {},
                       .derivative = {}});
    for_each_tensor(levels_.back(), [&](const LayerTensor&, std::size_t offset, std::size_t size) {
      dimension_ = offset + size;
    });
    widest_ = std::max(widest_, plan.out.size);
  }
}

template <class S>
void Network<S>::for_each_tensor(const Level& level, auto see) const {
  std::size_t offset = level.offset;
  for (const LayerTensor& tensor : level.plan.spec.row->tensors(level.plan)) {
    const std::size_t size = std::accumulate(tensor.extents.begin(), tensor.extents.end(),
                                             std::size_t{1}, std::multiplies<>());
    see(tensor, offset, size);
    offset += size;
  }
}

template <class S>
void Network<S>::initialize(std::span<S> x, std::uint64_t seed) const {
  const bool is_convex = levels_.size() == 1;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Prng prng = Prng::derive(seed, l);
    for_each_tensor(levels_[l],
                    [&](const LayerTensor& tensor, std::size_t offset, std::size_t size) {
                      const std::span<S> numbers = x.subspan(offset, size);
                      std::ranges::fill(numbers, static_cast<S>(tensor.initial));
                      if (tensor.fan_in == 0 || is_convex) return;
                      const double variance =
                          (l + 1 < levels_.size() ? 2.0 : 1.0) / static_cast<double>(tensor.fan_in);
                      const double deviation = std::sqrt(variance);
                      for (S& weight : numbers) weight = static_cast<S>(deviation * prng.normal());
                    });
  }
}

template <class S>
Pass<S> Network<S>::pass(std::size_t l, std::span<const S> x, const Block<S>& block) {
  return {.parameters = x.data() + levels_[l].offset,
          .rows = block.rows,
          .inputs = l == 0 ? block.inputs : levels_[l - 1].values.data(),
          .outputs = levels_[l].values.data()};
}

template <class S>
void Network<S>::forward(std::span<const S> x, const Block<S>& block, Mode mode) {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    if (level.values.size() < block.rows * level.plan.out.size)
      level.values.resize(block.rows * level.plan.out.size);
    level.layer->forward(pass(l, x, block), mode);
  }
}

template <class S>
Score Network<S>::take_outputs(const Block<S>& block, S scale) {
  return take_loss<S>(shape_.loss, {.rows = block.rows, .columns = shape_.outputs()}, block.truth,
                      scale, levels_.back().values.data());
}

template <class S>
std::span<const S> Network<S>::outputs(std::span<const S> x, const Block<S>& block) {
  forward(x, block, Mode::evaluation);
  return std::span(levels_.back().values).first(block.rows * shape_.outputs());
}

template <class S>
Score Network<S>::score(std::span<const S> x, const Block<S>& block) {
  forward(x, block, Mode::evaluation);
  return take_outputs(block, S{1});
}

template <class S>
Score Network<S>::add_gradient(std::span<const S> x, const Block<S>& block, S scale, bool first,
                               std::span<S> gradient) {
  forward(x, block, Mode::training);
  const Score score = take_outputs(block, scale);
  pass_down(x, block, [&](std::size_t offset) -> Derivatives<S> {
    return {.parameters = gradient.data() + offset,
            .first = first,
            .share = scale * static_cast<S>(block.rows)};
  });
  return score;
}

template <class S>
void Network<S>::pass_down(std::span<const S> x, const Block<S>& block, auto way) {
  S* by_outputs = levels_.back().values.data();
  for (std::size_t l = levels_.size(); l-- > 0;) {
    S* by_inputs = nullptr;
    if (l > 0) {
      Level& below = levels_[l - 1];
      if (below.derivative.size() < below.values.size())
        below.derivative.resize(below.values.size());
      by_inputs = below.derivative.data();
    }
    Derivatives<S> by = way(levels_[l].offset);
    by.outputs = by_outputs;
    by.inputs = by_inputs;
    levels_[l].layer->backward(pass(l, x, block), by);
    by_outputs = by_inputs;
  }
}

// Down once for the norms of the rows, and once more for the gradient, with the derivative of each
// row by the outputs scaled, in which all its derivatives are linear.
template <class S>
Score Network<S>::add_clipped_gradient(std::span<const S> x, const Block<S>& block, double bound,
                                       bool first, std::span<S> gradient) {
  forward(x, block, Mode::training);
  const Score score = take_outputs(block, S{1});
  const std::size_t width = shape_.outputs();
  S* const by_outputs = levels_.back().values.data();
  by_outputs_.assign(by_outputs, by_outputs + block.rows * width);
  squares_.assign(block.rows, 0);
  pass_down(x, block, [&](std::size_t) -> Derivatives<S> { return {.squares = squares_.data()}; });
  for (std::size_t r = 0; r < block.rows; ++r) {
    const double norm = std::sqrt(squares_[r]);
    const double factor = norm > bound ? bound / norm : 1;
    for (std::size_t at = r * width; at < (r + 1) * width; ++at)
      by_outputs[at] = std::isfinite(norm)
                           ? static_cast<S>(factor * static_cast<double>(by_outputs_[at]))
                           : S{0};
  }
  pass_down(x, block, [&](std::size_t offset) -> Derivatives<S> {
    return {.parameters = gradient.data() + offset, .first = first};
  });
  return score;
}

template <class S>
double Network<S>::add_penalty(std::span<const S> x, double l2, std::span<S> gradient) const {
  if (l2 == 0) return 0;
  double squares = 0;
  for (const Level& level : levels_)
    for_each_tensor(level, [&](const LayerTensor& tensor, std::size_t offset, std::size_t size) {
      if (tensor.fan_in == 0) return;
      for (std::size_t i = offset; i < offset + size; ++i) {
        squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        gradient[i] += static_cast<S>(l2) * x[i];
      }
    });
  return l2 / 2 * squares;
}

template class Network<float>;
template class Network<double>;

}  // namespace starling::models
