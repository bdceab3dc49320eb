// houses: random regression data with correlated features and noise, whose best linear model is
// known.
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/data/dataset.h"

namespace starling::models {

// House k has a common quality u and own z_j, all standard normal: feature x_j = .6 u + .8 z_j,
// price y = 2 + w.x + .3 e. `samples` to train and a fifth as many held out. Same seed, same
// houses.
Data draw_houses(std::size_t samples, std::uint64_t seed);

}  // namespace starling::models
