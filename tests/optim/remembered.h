// Remembered: a state with one of each kind of place, and a model that is saved with it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "optim/saved_state.h"

namespace starling::test {

struct Remembered {
  std::vector<float> m = {1, 2, 3};
  double power = 0.5, length = 7;
  std::uint64_t random = 99;
  bool knows = true;
  std::vector<std::uint32_t> order = {2, 0, 1};
  std::map<std::uint64_t, std::vector<float>> flows = {{17, {1, 0, -1}},
                                                       {0xfedcba9876543210, {4, 5, 6}}};

  optim::State<float> state() {
    optim::State<float> state;
    state.add("part", {.vectors = {{"m", m}},
                       .numbers = {{"power", &power}},
                       .own = {{"length", &length}, {"random", &random}, {"knows", &knows}},
                       .orders = {{"order", &order}},
                       .edges = {{"flow", &flows}}});
    return state;
  }
  bool operator==(const Remembered&) const = default;
};

inline const std::vector<optim::ParameterBlock> kSavedBlocks = {
    {.name = "w", .extents = {2, 1}, .offset = 0}, {.name = "b", .extents = {1}, .offset = 2}};
inline const std::vector<float> kSavedX = {0.1F, 0.2F, 0.3F};

inline optim::SavedState saved_of(Remembered& remembered, optim::BufferPool& pool) {
  return save_state(std::span<const float>(kSavedX), kSavedBlocks, remembered.state(), pool);
}

}  // namespace starling::test
