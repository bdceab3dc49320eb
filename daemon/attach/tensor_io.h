// Copies between the vector that is exchanged and the tensors of a region of a segment, from one
// type of numbers to the other. Bytes that a trainer writes meanwhile may be copied half-written.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/tensor_table.h"
#include "optim/vector/kernels.h"

namespace starling::daemon {

template <class S>
void write_numbers(const optim::Format& format, std::span<const S> values, std::byte* to) {
  const auto& kernels = optim::kernels<S>(format);
  if (kernels.is_native())
    std::memcpy(to, values.data(), values.size_bytes());
  else
    kernels.encode(values, to);
}

template <class S>
void read_numbers(const optim::Format& format, const std::byte* from, std::span<S> values) {
  const auto& kernels = optim::kernels<S>(format);
  if (kernels.is_native())
    std::memcpy(values.data(), from, values.size_bytes());
  else
    kernels.decode(from, values);
}

// x into the exchanged tensors of the region. REQUIRES x of the table's dimension.
template <class S>
void write_vector(const TensorTable& table, std::span<const S> x, std::span<std::byte> region) {
  for (const TrainerTensor& tensor : table.tensors()) {
    if (!tensor.is_exchanged()) continue;
    write_numbers<S>(*tensor.format, x.first(tensor.numbers), region.data() + tensor.offset);
    x = x.subspan(tensor.numbers);
  }
}

// Calls take(first, values) for one tile of the exchanged tensors after another: `first` is the
// place of the tile in the vector, `values` a copy.
template <class S, class Take>
void for_each_tile(const TensorTable& table, std::span<const std::byte> region, Take take) {
  std::vector<S> tile(optim::kTile);
  std::size_t first = 0;
  for (const TrainerTensor& tensor : table.tensors()) {
    if (!tensor.is_exchanged()) continue;
    for (std::size_t k = 0; k < tensor.numbers; k += optim::kTile) {
      const std::span<S> values(tile.data(), std::min(optim::kTile, tensor.numbers - k));
      read_numbers<S>(*tensor.format, region.data() + tensor.offset + k * tensor.width(), values);
      take(first, std::span<const S>(values));
      first += values.size();
    }
  }
}

template <class S>
bool is_finite(std::span<const S> values) {
  return std::isfinite(optim::squared_norm(values));
}

// The name of a tensor of the region with a number that is not finite; empty: there is none.
template <class S>
std::string not_finite(const TensorTable& table, std::span<const std::byte> region) {
  std::size_t first_bad = SIZE_MAX;
  for_each_tile<S>(table, region, [&](std::size_t first, std::span<const S> values) {
    if (first_bad == SIZE_MAX && !is_finite(values)) first_bad = first;
  });
  for (const optim::ParameterBlock& block : table.blocks())
    if (first_bad >= block.offset && first_bad - block.offset < block.size()) return block.name;
  return {};
}

}  // namespace starling::daemon
