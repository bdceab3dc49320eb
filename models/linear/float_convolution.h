// FloatConvolution: by oneDNN, on the calling thread.
#pragma once

#include <cstddef>
#include <memory>

#include "models/linear/convolution_shape.h"

namespace starling::models {

class FloatConvolution {
 public:
  explicit FloatConvolution(const ConvolutionShape& shape);
  ~FloatConvolution();
  FloatConvolution(const FloatConvolution&) = delete;
  FloatConvolution& operator=(const FloatConvolution&) = delete;

  // The first call for a number of rows takes milliseconds, of all three.
  void forward(std::size_t rows, const float* images, const float* parameters, float* outputs);
  // Writes the derivative by the images, from `delta`, that by the outputs before relu.
  void backward(std::size_t rows, const float* delta, const float* parameters, float* below);
  // Adds the derivative by the parameters; overwrites instead if `first`.
  void add_gradient(std::size_t rows, const float* images, const float* delta, bool first,
                    float* gradient);

 private:
  struct State;  // what oneDNN needs
  std::unique_ptr<State> state_;
};

}  // namespace starling::models
