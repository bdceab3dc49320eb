// Convolution<S>: of float by oneDNN, of double by a product. Both have the same functions.
#pragma once

#include <type_traits>

#include "models/linear/double_convolution.h"
#include "models/linear/float_convolution.h"

namespace starling::models {

template <class S>
using Convolution =
    std::conditional_t<std::is_same_v<S, float>, FloatConvolution, DoubleConvolution>;

}  // namespace starling::models
