// Blocks: the parts of a vector of parameters that have a meaning of their own, such as the weights
// of a layer.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace starling::optim {

struct ParameterBlock {
  std::string name;                  // no other block of the model has it
  std::vector<std::size_t> extents;  // row-major; weights of a layer: inputs, outputs
  std::size_t offset = 0;            // of its first number in x

  std::size_t size() const {
    return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>());
  }
  bool operator==(const ParameterBlock&) const = default;
};

// How many numbers x holds. REQUIRES blocks in the order in which they lie in x, without gaps.
inline std::size_t dimension_of(std::span<const ParameterBlock> blocks) {
  return blocks.empty() ? 0 : blocks.back().offset + blocks.back().size();
}

// For a model whose parameters all mean the same.
inline std::vector<ParameterBlock> one_block(std::size_t size) {
  return {{.name = "x", .extents = {size}, .offset = 0}};
}

}  // namespace starling::optim
