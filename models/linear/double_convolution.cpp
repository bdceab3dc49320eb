#include "models/linear/double_convolution.h"

#include <algorithm>

#include "models/linear/gemm.h"
#include "models/linear/kernels.h"

namespace starling::models {

DoubleConvolution::DoubleConvolution(const ConvolutionShape& shape)
    : shape_(shape),
      pixels_(shape.outputs().height * shape.outputs().width),
      squares_(pixels_ * shape.square()) {}

void DoubleConvolution::for_each(auto visit) const {
  const auto [height, width, channels] = shape_.image;
  const std::size_t kernel = shape_.kernel;
  std::size_t at = 0;
  for (std::size_t y = 0; y + kernel <= height; ++y)
    for (std::size_t x = 0; x + kernel <= width; ++x)
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < kernel * kernel; ++i)
          visit(((y + i / kernel) * width + x + i % kernel) * channels + c, at++);
}

void DoubleConvolution::gather(const double* image) {
  for_each([&](std::size_t from, std::size_t to) { squares_[to] = image[from]; });
}

void DoubleConvolution::forward(std::size_t rows, const double* images, const double* parameters,
                                double* outputs) {
  for (std::size_t n = 0; n < rows; ++n) {
    gather(images + n * shape_.image.size());
    gemm({.rows = pixels_,
          .columns = shape_.channels,
          .inner = shape_.square(),
          .b_transposed = true},
         squares_.data(), parameters, outputs + n * pixels_ * shape_.channels);
  }
  add_bias({.rows = rows * pixels_, .columns = shape_.channels}, shape_.relu,
           parameters + shape_.weights(), outputs);
}

void DoubleConvolution::backward(std::size_t rows, const double* delta, const double* parameters,
                                 double* below) {
  std::fill_n(below, rows * shape_.image.size(), 0.0);
  for (std::size_t n = 0; n < rows; ++n, below += shape_.image.size()) {
    gemm({.rows = pixels_, .columns = shape_.square(), .inner = shape_.channels},
         delta + n * pixels_ * shape_.channels, parameters, squares_.data());
    for_each([&](std::size_t to, std::size_t from) { below[to] += squares_[from]; });
  }
}

void DoubleConvolution::add_gradient(std::size_t rows, const double* images, const double* delta,
                                     bool first, double* gradient) {
  for (std::size_t n = 0; n < rows; ++n) {
    gather(images + n * shape_.image.size());
    gemm({.rows = shape_.channels,
          .columns = shape_.square(),
          .inner = pixels_,
          .a_transposed = true,
          .accumulate = !first || n > 0},
         delta + n * pixels_ * shape_.channels, squares_.data(), gradient);
  }
  if (first) std::fill_n(gradient + shape_.weights(), shape_.channels, 0.0);
  add_column_sums({.rows = rows * pixels_, .columns = shape_.channels}, delta,
                  gradient + shape_.weights());
}

}  // namespace starling::models
