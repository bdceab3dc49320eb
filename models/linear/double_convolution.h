// DoubleConvolution: all squares of an image, one a row (im2col), times the weights.
#pragma once

#include <cstddef>
#include <vector>

#include "models/linear/convolution_shape.h"

namespace starling::models {

class DoubleConvolution {
 public:
  explicit DoubleConvolution(const ConvolutionShape& shape);

  void forward(std::size_t rows, const double* images, const double* parameters, double* outputs);
  // Writes the derivative by the images, from `delta`, that by the outputs before relu.
  void backward(std::size_t rows, const double* delta, const double* parameters, double* below);
  // Adds the derivative by the parameters; overwrites instead if `first`.
  void add_gradient(std::size_t rows, const double* images, const double* delta, bool first,
                    double* gradient);

 private:
  // Calls visit(number of the image, number of the squares) for all of these, in their order.
  void for_each(auto visit) const;
  void gather(const double* image);

  ConvolutionShape shape_;
  std::size_t pixels_;           // of an output
  std::vector<double> squares_;  // of one image, pixels x square()
};

}  // namespace starling::models
