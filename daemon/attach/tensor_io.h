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

#include "base/stream_copy.h"
#include "daemon/attach/tensor_table.h"
#include "optim/vector/kernels.h"

namespace starling::daemon {

// Part of a vector of `bytes`.
template <class S>
void copy_numbers(std::span<const S> values, std::byte* to, std::size_t bytes) {
  if (bytes >= kStreamedBytes)
    stream_copy(std::as_bytes(values), to);
  else
    std::memmove(to, values.data(), values.size_bytes());
}

// Of a vector of `bytes`.
template <class S>
void write_numbers(const optim::Format& format, std::span<const S> values, std::byte* to,
                   std::size_t bytes) {
  const auto& kernels = optim::kernels<S>(format);
  if (kernels.is_native())
    copy_numbers(values, to, bytes);
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
  const std::size_t bytes = x.size_bytes();
  for (const TrainerTensor& tensor : table.tensors()) {
    if (!tensor.is_exchanged()) continue;
    write_numbers<S>(*tensor.format, x.first(tensor.numbers), region.data() + tensor.offset, bytes);
    x = x.subspan(tensor.numbers);
  }
}

// Calls take(values) for one tile of the tensor after another; `values` is a copy.
template <class S, class Take>
void for_each_tile(const TrainerTensor& tensor, std::span<const std::byte> region, Take take) {
  std::vector<S> tile(optim::kTile);
  for (std::size_t k = 0; k < tensor.numbers; k += optim::kTile) {
    const std::span<S> values(tile.data(), std::min(optim::kTile, tensor.numbers - k));
    read_numbers<S>(*tensor.format, region.data() + tensor.offset + k * tensor.width(), values);
    take(std::span<const S>(values));
  }
}

// Calls take(first, values) for one tile of the exchanged tensors after another: `first` is the
// place of the tile in the vector, `values` a copy.
template <class S, class Take>
void for_each_tile(const TensorTable& table, std::span<const std::byte> region, Take take) {
  std::size_t first = 0;
  for (const TrainerTensor& tensor : table.tensors())
    if (tensor.is_exchanged())
      for_each_tile<S>(tensor, region, [&](std::span<const S> values) {
        take(first, values);
        first += values.size();
      });
}

template <class S>
bool is_finite(std::span<const S> values) {
  return std::isfinite(optim::squared_norm(values));
}

// Numbers that lie as they are in memory are not copied: what the trainer changes meanwhile is for
// who copies them to check.
template <class S>
bool is_finite(const TrainerTensor& tensor, std::span<const std::byte> region) {
  if (optim::kernels<S>(*tensor.format).is_native())
    return is_finite(
        std::span(reinterpret_cast<const S*>(region.data() + tensor.offset), tensor.numbers));
  bool is_sound = true;
  for_each_tile<S>(tensor, region,
                   [&](std::span<const S> values) { is_sound = is_sound && is_finite(values); });
  return is_sound;
}

// The name of a tensor of the region with a number that is not finite; empty: there is none.
template <class S>
std::string not_finite(const TensorTable& table, std::span<const std::byte> region) {
  for (const TrainerTensor& tensor : table.tensors())
    if (tensor.is_exchanged() && !is_finite<S>(tensor, region)) return tensor.name;
  return {};
}

}  // namespace starling::daemon
