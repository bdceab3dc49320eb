// norm: batch normalization (Ioffe, Szegedy: Batch normalization, 2015), of each channel of images
// or each number. Over the rows and pixels of a block in training, with m and q the means of z and
// of z z:
//   xhat = (z - m) / sqrt(q - m m + epsilon),  y = relu(weight xhat + bias)
// Evaluation takes the running m and q instead.
//
// The running ones are parameters, whose derivative is running - measured: that of half the squared
// distance, so a step of learning rate g replaces the share g of them. Averaging between nodes and
// the corrections of exact algorithms then treat them as they treat every parameter, and end where
// the sum of these derivatives over all nodes is zero: at the mean of m and q over the nodes. A
// change beside the step would be unknown to the corrections, which assume that x moves by steps
// and by averages alone. It is q and not a variance because the mean of the nodes' q is that of
// their data together; the mean of their variances is less.
//
// Parameters: weight, bias, running_mean, running_square.
#include <algorithm>
#include <cmath>
#include <vector>

#include "models/linear/kernels.h"
#include "models/nets/layers/rows.h"

namespace starling::models {
namespace {

constexpr double kEpsilon = 1e-5;

std::size_t normalized(const SampleShape& shape) {
  return shape.image ? shape.image->channels : shape.size;
}

template <class S>
class Normalization final : public Layer<S> {
 public:
  explicit Normalization(const LayerPlan& plan)
      : columns_(normalized(plan.in)),
        pixels_(plan.in.size / columns_),
        relu_(plan.relu),
        mean_(columns_),
        square_(columns_),
        factor_(columns_),
        shift_(columns_) {}

  void forward(const Pass<S>& pass, Mode mode) override {
    const S *const weight = pass.parameters, *const bias = weight + columns_;
    const Extent extent = extent_of(pass);
    if (mode == Mode::training) {
      measure(pass);
    } else {
      std::copy_n(bias + columns_, columns_, mean_.begin());
      std::copy_n(bias + 2 * columns_, columns_, square_.begin());
    }
    for (std::size_t c = 0; c < columns_; ++c) {
      // Below 0 by rounding, or after steps that overshoot.
      const double variance = std::max(0.0, square_[c] - mean_[c] * mean_[c]);
      const double factor = 1 / std::sqrt(variance + kEpsilon);
      factor_[c] = static_cast<S>(factor);
      shift_[c] = static_cast<S>(-mean_[c] * factor);
    }
    normalized_.resize(extent.rows * columns_);
    const std::vector<S> none(columns_);
    scale_columns(extent, pass.inputs, factor_.data(), shift_.data(), normalized_.data());
    scale_columns(extent, normalized_.data(), weight, none.data(), pass.outputs);
    add_bias(extent, relu_, bias, pass.outputs);
  }

  // With r rows times pixels and d the derivative by y:
  //   by z: weight / sqrt(…) (d - (sum d) / r - xhat (sum d xhat) / r)
  void backward(const Pass<S>& pass, const Derivatives<S>& by) override {
    const Extent extent = extent_of(pass);
    if (relu_) mask_relu(extent, pass.outputs, by.outputs);
    std::vector<S> products(columns_), sums(columns_);
    for_each_sample(pass.rows, [&](const Extent& sample, std::size_t at) {
      add_column_products(sample, by.outputs + at, normalized_.data() + at, products.data());
      add_column_sums(sample, by.outputs + at, sums.data());
    });
    add(products, by, 0);
    add(sums, by, 1);
    add_distances(pass, mean_, by, 2);
    add_distances(pass, square_, by, 3);
    if (!by.inputs) return;
    const auto rows = static_cast<S>(extent.rows);
    for (std::size_t c = 0; c < columns_; ++c) {
      factor_[c] *= pass.parameters[c];
      products[c] *= -factor_[c] / rows;
      sums[c] *= -factor_[c] / rows;
    }
    scale_columns(extent, by.outputs, factor_.data(), sums.data(), by.inputs);
    add_scaled_columns(extent, normalized_.data(), products.data(), by.inputs);
  }

 private:
  Extent extent_of(const Pass<S>& pass) const {
    return {.rows = pass.rows * pixels_, .columns = columns_};
  }

  // Calls visit(extent, its first number) for every sample, so that sums of floats stay short.
  void for_each_sample(std::size_t rows, auto visit) const {
    for (std::size_t n = 0; n < rows; ++n)
      visit(Extent{.rows = pixels_, .columns = columns_}, n * pixels_ * columns_);
  }

  void measure(const Pass<S>& pass) {
    std::vector<S> sums(columns_), squares(columns_);
    std::ranges::fill(mean_, 0);
    std::ranges::fill(square_, 0);
    const auto count = static_cast<double>(pass.rows * pixels_);
    for_each_sample(pass.rows, [&](const Extent& sample, std::size_t at) {
      std::ranges::fill(sums, S{0});
      std::ranges::fill(squares, S{0});
      add_column_sums(sample, pass.inputs + at, sums.data());
      add_column_products(sample, pass.inputs + at, pass.inputs + at, squares.data());
      for (std::size_t c = 0; c < columns_; ++c) {
        mean_[c] += static_cast<double>(sums[c]) / count;
        square_[c] += static_cast<double>(squares[c]) / count;
      }
    });
  }

  // To the derivative of the tensor of that number.
  void add(const std::vector<S>& values, const Derivatives<S>& by, std::size_t tensor) const {
    S* const to = by.parameters + tensor * columns_;
    for (std::size_t c = 0; c < columns_; ++c) to[c] = (by.first ? S{0} : to[c]) + values[c];
  }
  void add_distances(const Pass<S>& pass, const std::vector<double>& measured,
                     const Derivatives<S>& by, std::size_t tensor) const {
    const S* const running = pass.parameters + tensor * columns_;
    std::vector<S> distances(columns_);
    for (std::size_t c = 0; c < columns_; ++c)
      distances[c] = by.share * (running[c] - static_cast<S>(measured[c]));
    add(distances, by, tensor);
  }

  std::size_t columns_, pixels_;
  bool relu_;
  std::vector<double> mean_, square_;  // of the last block, or the running ones
  std::vector<S> factor_, shift_;      // xhat = factor z + shift
  std::vector<S> normalized_;          // xhat
};

std::vector<LayerTensor> normalization_tensors(const LayerPlan& plan) {
  const std::vector<std::size_t> extents{normalized(plan.in)};
  return {{.name = "weight", .extents = extents, .initial = 1},
          {.name = "bias", .extents = extents},
          {.name = "running_mean", .extents = extents},
          {.name = "running_square", .extents = extents, .initial = 1}};
}

}  // namespace

LayerRow normalization_row() {
  return {.name = "norm",
          .help = "batch normalization, before the relu of the layer before it",
          .numbers = {},
          .relu = Relu::takes,
          .keeps_statistics = true,
          .fit = [](const LayerSpec&, const SampleShape& in) -> Result<SampleShape> { return in; },
          .tensors = normalization_tensors,
          .make = maker_of<Normalization>()};
}

}  // namespace starling::models
