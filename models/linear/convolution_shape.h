// ConvolutionShape: a convolution of images with square kernels, without padding. With K the
// kernel,
//   outputs[n, y, x, o] = b[o] + sum over c, i, j of W[o, c, i, j] images[n, y + i, x + j, c]
// or with relu the maximum of that and 0; i and j go from 0 to K - 1.
//
// Images lie with their channels last (NHWC). Parameters: W (output channels x input channels x K x
// K, row-major), then b.
#pragma once

#include <cstddef>

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

}  // namespace starling::models
