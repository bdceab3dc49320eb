// Compressor: encodes numbers lossily, in blocks that are decoded independently. A compressor has
// no state, no randomness and no step size: the error stays in the difference that is sent next
// (error feedback, channel.h).
//
// The law of every row, for all finite v: with q = decode(encode(v)), ||v - q|| <= ||v||; decode
// reads no further than bytes(count); the same bytes decode to the same bits on every processor. To
// add a compressor: a file in optim/codec/, its declaration here, its row in compressor.cpp, a rung
// in ladder.cpp if `auto` may choose it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "optim/codec/kernels_of.h"

namespace starling::optim {

// The most numbers of a block.
inline constexpr std::size_t kBlockLimit = 4096;

template <class S>
struct BlockKernels {
  // REQUIRES at least one and at most Compressor::block numbers, all finite; writes bytes(count)
  // bytes. `density` is the fraction of the numbers that a sparse row keeps.
  void (*encode)(std::span<const S> v, double density, std::byte* wire) = nullptr;
  // Overwrites q. Returns false if the bytes are not a valid block.
  bool (*decode)(const std::byte* wire, double density, std::span<S> q) = nullptr;
};

struct Compressor {
  std::string_view name;
  std::string_view help;  // what it costs and what it cannot show
  bool is_sparse = false;
  std::size_t block = 0;                                              // numbers of a full one
  std::size_t (*bytes)(std::size_t count, double density) = nullptr;  // of a block
  BlockKernels<float> in_single = {};
  BlockKernels<double> in_double = {};
};

// In the order of display. Rows are static; compare them by address.
std::span<const Compressor> compressors();

// One function for each row.
Compressor i8_row();
Compressor i4_row();
Compressor i2_row();
Compressor top_row();

}  // namespace starling::optim
