// SavedState: everything that another node, or this one in its next life, needs to go on as this
// one would: the parameters, and each part of the trainer's state under its name. A field is what
// the safetensors format calls a tensor. On the wire, little-endian:
//   u32 magic "STAT", u32 version, u32 head bytes, then the head, the bytes of each field in order
// and the opaque part. The head is text: a line with the kind; one with the numbers of parameters,
// of other fields and of opaque bytes; a line for each field, "F32 3,4 its name"; and the schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "optim/local/blocks.h"
#include "optim/state.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

struct SavedField {
  std::string name;  // one line
  std::string type;  // F32, F64, U32 or U64
  std::vector<std::size_t> extents;
  Payload bytes;  // little-endian
};

struct SavedState {
  // The model in words: what must agree for these parameters to make sense.
  std::string schema;
  // The algorithm and the local optimizer that the state belongs to, with a blank between them.
  std::string kind;
  std::vector<SavedField> parameters;  // the blocks of the model, in their order
  std::vector<SavedField> state;
  Payload opaque;  // what only the learner reads
};

inline constexpr std::uint32_t kSavedStateVersion = 3;
// The most vectors in the state of any algorithm with any optimizer.
inline constexpr std::size_t kStateVectorsLimit = 4;

// A copy of the numbers in one buffer of the pool; shares the opaque part. `x` lies as `blocks`
// say.
template <class S>
SavedState save_state(std::span<const S> x, std::span<const ParameterBlock> blocks,
                      const State<S>& state, BufferPool& pool);

// Shares the bytes of the fields.
Payload encode(const SavedState& saved);
// Shares the bytes of `payload`. The error says what is wrong: another version, or a size that does
// not fit. Nothing larger than `payload` is allocated.
Result<SavedState> decode_saved_state(const Payload& payload);
// The most bytes that encode() gives for such a state of any node.
template <class S>
std::size_t encoded_limit(std::string_view schema, std::span<const ParameterBlock> blocks,
                          const State<S>& state);

// The parameters. The error names the block that is missing, has another type or another size, or
// holds a number that is not finite.
template <class S>
Result<std::vector<S>> load_parameters(const SavedState& saved,
                                       std::span<const ParameterBlock> blocks);

// Whether the saved state has all vectors and numbers of `state`, which is of a model of
// `dimension` parameters, and whether its fields for the node itself fit. The error names the field
// that is missing or does not fit, or holds a number that is not finite.
template <class S>
Result<void> check_state(const SavedState& saved, std::size_t dimension, const State<S>& state);
// Overwrites `state`; fields that were not saved stay. REQUIRES that it fits.
template <class S>
void load_state(const SavedState& saved, std::size_t dimension, const State<S>& state);

}  // namespace starling::optim
