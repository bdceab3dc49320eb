// conv: every output channel of a pixel is a weighted sum of the square of inputs that begins at
// that pixel, so that images shrink by kernel - 1; then relu.
// Parameters: W (output channels x input channels x kernel x kernel, as PyTorch has them), b.
#include "models/linear/convolution.h"

#include <algorithm>
#include <vector>

#include "models/linear/kernels.h"
#include "models/nets/layers/rows.h"

namespace starling::models {
namespace {

constexpr std::size_t kChannelsLimit = 1024;
constexpr std::size_t kKernelLimit = 31;

ConvolutionShape convolution_of(const LayerPlan& plan) {
  return {.image = *plan.in.image,
          .channels = plan.spec.numbers[0],
          .kernel = plan.spec.numbers[1],
          .relu = plan.relu};
}

template <class S>
class ConvolutionLayer final : public Layer<S> {
 public:
  explicit ConvolutionLayer(const LayerPlan& plan)
      : shape_(convolution_of(plan)), convolution_(shape_) {}

  void forward(const Pass<S>& pass, Mode) override {
    convolution_.forward(pass.rows, pass.inputs, pass.parameters, pass.outputs);
  }

  void backward(const Pass<S>& pass, const Derivatives<S>& by) override {
    if (shape_.relu)
      mask_relu({.rows = pass.rows, .columns = shape_.outputs().size()}, pass.outputs, by.outputs);
    if (by.squares)
      add_squares(pass, by);
    else
      convolution_.add_gradient(pass.rows, pass.inputs, by.outputs, by.first, by.parameters);
    if (by.inputs) convolution_.backward(pass.rows, by.outputs, pass.parameters, by.inputs);
  }

 private:
  // One row after the other: no product of norms gives that of a sum over pixels.
  void add_squares(const Pass<S>& pass, const Derivatives<S>& by) {
    of_row_.resize(shape_.weights() + shape_.channels);
    for (std::size_t r = 0; r < pass.rows; ++r) {
      convolution_.add_gradient(1, pass.inputs + r * shape_.image.size(),
                                by.outputs + r * shape_.outputs().size(), true, of_row_.data());
      by.squares[r] += sum_of_squares(of_row_.data(), of_row_.size());
    }
  }

  ConvolutionShape shape_;
  Convolution<S> convolution_;
  std::vector<S> of_row_;  // a buffer
};

Result<SampleShape> fit_convolution(const LayerSpec& spec, const SampleShape& in) {
  const auto [channels, kernel] = spec.numbers;
  if (!in.image) return fail("gets {} numbers without an order; expected images", in.size);
  if (std::min(in.image->height, in.image->width) < kernel)
    return fail("gets images of {} x {}; expected at least {} x {}", in.image->height,
                in.image->width, kernel, kernel);
  return SampleShape(
      ConvolutionShape{.image = *in.image, .channels = channels, .kernel = kernel}.outputs());
}

std::vector<LayerTensor> convolution_tensors(const LayerPlan& plan) {
  const auto [channels, kernel] = plan.spec.numbers;
  const std::size_t inputs = plan.in.image->channels;
  return {{.name = "weight",
           .extents = {channels, inputs, kernel, kernel},
           .fan_in = inputs * kernel * kernel},
          {.name = "bias", .extents = {channels}}};
}

}  // namespace

LayerRow convolution_row() {
  return {.name = "conv",
          .help = "convolution without padding, and relu",
          .numbers = {{"CHANNELS", kChannelsLimit}, {"KERNEL", kKernelLimit}},
          .relu = Relu::own,
          .fit = fit_convolution,
          .tensors = convolution_tensors,
          .make = maker_of<ConvolutionLayer>()};
}

}  // namespace starling::models
