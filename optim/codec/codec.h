// Codec: encodes and decodes vectors of S in any format of the table (format.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/payload.h"
#include "optim/codec/byte_reader.h"
#include "optim/codec/format.h"
#include "optim/vector/buffer_pool.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

// Writes values.size() numbers to `wire`, which may be misaligned.
template <class S>
void write_numbers(const Format& format, std::span<const S> values, std::byte* wire);
// Encodes a copy of `values`, in a buffer of the pool.
template <class S>
Payload encode(const Format& format, std::span<const S> values, BufferPool& pool);
// Encodes the vector, without a copy if the format is S as in memory.
template <class S>
Payload encode(const Format& format, SharedVector<S>& values, BufferPool& pool);

// Reads an encoded vector front to back in steps, without copying if the format is S as in memory.
template <class S>
class VectorReader {
 public:
  // REQUIRES fits(format, payload, …); `payload` outlives the reader.
  VectorReader(const Format& format, const Payload& payload) : format_(&format), bytes_(payload) {}

  // The next scratch.size() numbers, in place or decoded into `scratch`. REQUIRES they exist.
  std::span<const S> next(std::span<S> scratch);
  // Skips the next `count` numbers. REQUIRES they exist.
  void skip(std::size_t count) { bytes_.pass(count * format_->width); }

 private:
  const Format* format_;
  ByteReader bytes_;
};

// Decodes the first out.size() numbers of a vector. REQUIRES they exist, and fits().
template <class S>
void decode(const Format& format, const Payload& payload, std::span<S> out) {
  const std::span<const S> numbers = VectorReader<S>(format, payload).next(out);
  if (numbers.data() != out.data()) std::ranges::copy(numbers, out.begin());
}

}  // namespace starling::optim
