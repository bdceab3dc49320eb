// Copies between the vector that is exchanged and the tensors of a region of a segment, from one
// type of numbers to the other. What a trainer writes meanwhile is copied as it is found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
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
  S sum = 0;  // of zeros, unless a number is not finite
  for (const S value : values) sum += value * S{0};
  return sum == S{0};
}

template <class S>
bool is_finite_vector(const TensorTable& table, std::span<const std::byte> region) {
  bool finite = true;
  for_each_tile<S>(table, region, [&](std::size_t, std::span<const S> values) {
    finite = finite && is_finite(values);
  });
  return finite;
}

}  // namespace starling::daemon
