// Convolution of doubles: all squares of an image, one a row (im2col), times the weights.
#include "models/linear/convolution.h"

#include <algorithm>
#include <vector>

#include "models/linear/gemm.h"
#include "models/linear/kernels.h"

namespace starling::models {

template <>
struct Convolution<double>::State {
  explicit State(const ConvolutionShape& of)
      : shape(of),
        pixels(of.outputs().height * of.outputs().width),
        squares(pixels * of.square()) {}

  // Calls visit(number of an image, number of a square) for all of both, in the order of squares.
  void for_each(auto visit) const {
    const auto [height, width, channels] = shape.image;
    std::size_t at = 0;
    for (std::size_t y = 0; y + shape.kernel <= height; ++y)
      for (std::size_t x = 0; x + shape.kernel <= width; ++x)
        for (std::size_t c = 0; c < channels; ++c)
          for (std::size_t i = 0; i < shape.kernel * shape.kernel; ++i) {
            const std::size_t row = (y + i / shape.kernel) * width;
            visit((row + x + i % shape.kernel) * channels + c, at++);
          }
  }
  void gather(const double* image) {
    for_each([&](std::size_t from, std::size_t to) { squares[to] = image[from]; });
  }

  ConvolutionShape shape;
  std::size_t pixels;           // of an output
  std::vector<double> squares;  // of one image, pixels x square()
};

template <>
Convolution<double>::Convolution(const ConvolutionShape& shape)
    : state_(std::make_unique<State>(shape)) {}

template <>
Convolution<double>::~Convolution() = default;

template <>
void Convolution<double>::forward(std::size_t rows, const double* images, const double* parameters,
                                  double* outputs) {
  const ConvolutionShape& shape = state_->shape;
  const std::size_t pixels = state_->pixels;
  for (std::size_t n = 0; n < rows; ++n) {
    state_->gather(images + n * shape.image.size());
    gemm({.rows = pixels, .columns = shape.channels, .inner = shape.square(), .b_transposed = true},
         state_->squares.data(), parameters, outputs + n * pixels * shape.channels);
  }
  add_bias({.rows = rows * pixels, .columns = shape.channels}, shape.relu,
           parameters + shape.weights(), outputs);
}

template <>
void Convolution<double>::backward(std::size_t rows, const double* delta, const double* parameters,
                                   double* below) {
  const ConvolutionShape& shape = state_->shape;
  const std::size_t pixels = state_->pixels;
  std::fill_n(below, rows * shape.image.size(), 0.0);
  for (std::size_t n = 0; n < rows; ++n, below += shape.image.size()) {
    gemm({.rows = pixels, .columns = shape.square(), .inner = shape.channels},
         delta + n * pixels * shape.channels, parameters, state_->squares.data());
    state_->for_each([&](std::size_t to, std::size_t from) { below[to] += state_->squares[from]; });
  }
}

template <>
void Convolution<double>::add_gradient(std::size_t rows, const double* images, const double* delta,
                                       bool first, double* gradient) {
  const ConvolutionShape& shape = state_->shape;
  const std::size_t pixels = state_->pixels;
  for (std::size_t n = 0; n < rows; ++n) {
    state_->gather(images + n * shape.image.size());
    gemm({.rows = shape.channels,
          .columns = shape.square(),
          .inner = pixels,
          .a_transposed = true,
          .accumulate = !first || n > 0},
         delta + n * pixels * shape.channels, state_->squares.data(), gradient);
  }
  if (first) std::fill_n(gradient + shape.weights(), shape.channels, 0.0);
  add_column_sums({.rows = rows * pixels, .columns = shape.channels}, delta,
                  gradient + shape.weights());
}

}  // namespace starling::models
