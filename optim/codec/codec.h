// Codec: vectors of S to and from the wire, in any row of the table of formats.
#pragma once

#include <cstddef>
#include <span>

#include "base/payload.h"
#include "optim/codec/format.h"
#include "optim/vector/buffer_pool.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

// A copy of `values` for the wire, in a buffer of the pool.
template <class S>
Payload encode(const Format& format, std::span<const S> values, BufferPool& pool);
// The vector for the wire: its own bytes if the format is S as in memory.
template <class S>
Payload encode(const Format& format, SharedVector<S>& values, BufferPool& pool);

// The numbers [first, first + out.size()) of an encoded vector. REQUIRES they exist.
template <class S>
void decode(const Format& format, const Payload& payload, std::size_t first, std::span<S> out);

// Reads an encoded vector front to back in steps, without copying if the format is S as in memory.
template <class S>
class VectorReader {
 public:
  // REQUIRES fits(format, payload, …); `payload` outlives the reader.
  VectorReader(const Format& format, const Payload& payload)
      : format_(&format), payload_(&payload) {}

  // The next scratch.size() numbers, in place or decoded into `scratch`. REQUIRES they exist.
  std::span<const S> next(std::span<S> scratch);

 private:
  const Format* format_;
  const Payload* payload_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;  // bytes into the piece
};

}  // namespace starling::optim
