// Convolution: of images with square kernels, without padding, on one thread. With K the kernel,
//   outputs[n, y, x, o] = b[o] + sum over c, i, j of W[o, c, i, j] images[n, y + i, x + j, c]
// or with relu the maximum of that and 0; i and j go from 0 to K - 1.
//
// Images lie with their channels last (NHWC). Parameters: W (output channels x input channels x K x
// K, row-major), then b. Float goes to oneDNN, double to a product with all squares of the image.
#pragma once

#include <cstddef>
#include <memory>

#include "models/data/dataset.h"

namespace starling::models {

struct ConvolutionShape {
  ImageShape image;          // of the inputs
  std::size_t channels = 0;  // of the outputs
  std::size_t kernel = 0;    // at most the image's height and width
  bool relu = false;

  ImageShape outputs() const {
    return {.height = image.height - kernel + 1,
            .width = image.width - kernel + 1,
            .channels = channels};
  }
  std::size_t square() const { return image.channels * kernel * kernel; }  // numbers
  std::size_t weights() const { return channels * square(); }
};

template <class S>  // float or double
class Convolution {
 public:
  explicit Convolution(const ConvolutionShape& shape);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // The first call for a number of rows takes milliseconds.
  void forward(std::size_t rows, const S* images, const S* parameters, S* outputs);
  // Writes the derivative by the images, from `delta`, that by the outputs before relu.
  void backward(std::size_t rows, const S* delta, const S* parameters, S* below);
  // Adds the derivative by the parameters; overwrites instead if `first`.
  void add_gradient(std::size_t rows, const S* images, const S* delta, bool first, S* gradient);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::models
