// Encoding: how one message holds its numbers: each in a format, or in blocks of a compressor.
#pragma once

#include <cstddef>
#include <span>

#include "optim/codec/compressor.h"
#include "optim/codec/format.h"

namespace starling::optim {

struct Encoding {
  const Format* whole = nullptr;           // of numbers in whole segments; see Segment::is_whole
  const Format* format = nullptr;          // of the others, without a compressor
  const Compressor* compressor = nullptr;  // null: none
  double density = 1;                      // of a sparse one

  bool is_lossy(bool is_whole) const { return !is_whole && compressor; }
  // The bytes of `count` numbers.
  std::size_t bytes(std::size_t count, bool is_whole) const;
  // Writes bytes() bytes. REQUIRES that all numbers are finite.
  template <class S>
  void encode(std::span<const S> v, bool is_whole, std::byte* wire) const;
  // Overwrites q. Returns false if the bytes are invalid or a number is not finite.
  template <class S>
  bool decode(const std::byte* wire, bool is_whole, std::span<S> q) const;

 private:
  const Format& format_of(bool is_whole) const { return is_whole ? *whole : *format; }
};

}  // namespace starling::optim
