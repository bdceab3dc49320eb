// The rows of the registry, each of a .cpp of its name.
#pragma once

#include "models/nets/layer_registry.h"

namespace starling::models {

LayerRow convolution_row();
LayerRow pooling_row();
LayerRow dense_row();
LayerRow normalization_row();

template <template <class> class Made>
constexpr LayerMaker maker_of() {
  return {.in_single = [](const LayerPlan& plan) -> std::unique_ptr<Layer<float>> {
            return std::make_unique<Made<float>>(plan);
          },
          .in_double = [](const LayerPlan& plan) -> std::unique_ptr<Layer<double>> {
            return std::make_unique<Made<double>>(plan);
          }};
}

}  // namespace starling::models
