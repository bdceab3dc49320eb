// digits: images of handwritten-looking digits drawn by the program, ten classes of 28 x 28 bytes.
// A digit is a few strokes; every image draws them with its own shift, scale, slant, rotation,
// thickness, wobble and noise, so that a linear model does clearly worse than a network.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/data/dataset.h"

namespace starling::models {

inline constexpr std::size_t kDigitSide = 28;
inline constexpr std::size_t kDigitClasses = 10;

// `samples` to train, classes as even as can be, and a fifth as many held out. Same seed, same
// images, on every machine up to rounding of the mathematical functions.
Data draw_digits(std::size_t samples, std::uint64_t seed);

}  // namespace starling::models
