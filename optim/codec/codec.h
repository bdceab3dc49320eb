// Codec: how a vector of S looks on the wire. Raw little-endian numbers, f32 or f64.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/payload.h"
#include "optim/vector/buffer_pool.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

enum class Codec { f32, f64 };

inline std::string_view name(Codec codec) {
  return codec == Codec::f32 ? "f32" : "f64";
}
inline std::size_t bytes_per_number(Codec codec) {
  return codec == Codec::f32 ? 4 : 8;
}

// A copy of `values` for the wire, in a buffer of the pool.
template <class S>
Payload encode(Codec codec, std::span<const S> values, BufferPool& pool);
// The vector for the wire: its own bytes where the wire format is S.
template <class S>
Payload encode(Codec codec, SharedVector<S>& values, BufferPool& pool);

// The numbers [first, first + out.size()) of an encoded vector. REQUIRES they exist.
template <class S>
void decode(Codec codec, const Payload& payload, std::size_t first, std::span<S> out);

// Whether the payload is a vector of `count` numbers whose pieces hold whole numbers.
bool is_vector(Codec codec, const Payload& payload, std::size_t count);

// Reads an encoded vector front to back in steps, without copying where the wire format is S.
template <class S>
class VectorReader {
 public:
  // REQUIRES is_vector(codec, payload, …); `payload` outlives the reader.
  VectorReader(Codec codec, const Payload& payload) : codec_(codec), payload_(&payload) {}

  // The next scratch.size() numbers, in place or decoded into `scratch`.
  std::span<const S> next(std::span<S> scratch);

 private:
  Codec codec_;
  const Payload* payload_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;  // bytes into the piece
};

}  // namespace starling::optim
