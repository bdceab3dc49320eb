// BLOCK_KERNELS: defines the four functions of a Compressor, encode and decode of float and of
// double, for every instruction set, from two templates in scope:
//   encode_block(std::span<const S> v, double density, std::byte* wire)
//   decode_block(const std::byte* wire, double density, std::span<S> q)
// Both must be always_inline, as must what they call, to be compiled for each instruction set.
#pragma once

#include "base/every_cpu.h"
#include "optim/codec/compressor.h"

#define BLOCK_KERNELS_FOR(S)                                                     \
  EVERY_CPU void encode(std::span<const S> v, double density, std::byte* wire) { \
    encode_block(v, density, wire);                                              \
  }                                                                              \
  EVERY_CPU bool decode(const std::byte* wire, double density, std::span<S> q) { \
    return decode_block(wire, density, q);                                       \
  }

#define BLOCK_KERNELS BLOCK_KERNELS_FOR(float) BLOCK_KERNELS_FOR(double)
