// Snapshot: everything by which another node goes on as this one would have: the parameters and the
// state of algorithm and local optimizer. In bytes, little-endian, S being f32 or f64:
//   u32 magic "SNAP", u32 version, u64 schema, u64 kind, u64 dimension d, u32 vectors k,
//   u32 numbers n, u64 opaque o, f64 numbers[n], S x[d], S vectors[k][d], byte opaque[o]
// `schema` is the hash of what must agree for averaging, `kind` that of what the state belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "optim/state.h"

namespace starling::optim {

template <class S>
struct Snapshot {
  std::uint64_t schema = 0, kind = 0;
  std::vector<S> x;
  std::vector<std::vector<S>> vectors;
  std::vector<double> numbers;
  Payload opaque;
};

inline constexpr std::uint32_t kSnapshotVersion = 2;
inline constexpr std::size_t kStateVectorsLimit = 16;
inline constexpr std::size_t kStateNumbersLimit = 64;

// Of State, what is for every heir. At most, of any node.
template <class S>
std::size_t snapshot_bytes(std::size_t dimension, const State<S>& state);

// A copy but for the opaque part, which it shares. REQUIRES vectors as long as x, and no more of
// them or of numbers than the limits.
template <class S>
Payload encode_snapshot(std::uint64_t schema, std::uint64_t kind, std::span<const S> x,
                        const State<S>& state);

// The error says what is wrong: another version, schema or dimension, a size that does not fit, a
// number that is not finite. Nothing larger than `payload` is allocated.
template <class S>
Result<Snapshot<S>> decode_snapshot(const Payload& payload, std::uint64_t schema,
                                    std::size_t dimension);

}  // namespace starling::optim
