// SavedState: everything by which a node goes on in its next life as it would have in this one: the
// parameters, and each part of the trainer's state under its name. A field is what the safetensors
// format calls a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "optim/local/blocks.h"
#include "optim/state.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

struct SavedField {
  std::string name;
  std::string type;  // F32, F64, U32 or U64
  std::vector<std::size_t> extents;
  Payload bytes;  // little-endian
};

struct SavedState {
  // The model in words: what must agree for these parameters to make sense.
  std::string schema;
  // The algorithm and the local optimizer that the state belongs to.
  std::string kind;
  std::vector<SavedField> parameters;  // the blocks of the model, in their order
  std::vector<SavedField> state;
  Payload opaque;  // what only the learner reads
};

// A copy of the numbers in one buffer of the pool; shares the opaque part. `x` lies as `blocks`
// say.
template <class S>
SavedState save_state(std::span<const S> x, std::span<const ParameterBlock> blocks,
                      const State<S>& state, BufferPool& pool);

// The parameters. The error names the block that is missing, or has another type or another size.
template <class S>
Result<std::vector<S>> load_parameters(const SavedState& saved,
                                       std::span<const ParameterBlock> blocks);

// Writes over `state`, which is of a model of `dimension` parameters. A part that was not saved
// stays as it is. The error names a field that does not fit or holds a number that is not finite;
// `state` is of no use then.
template <class S>
Result<void> load_state(const SavedState& saved, std::size_t dimension, const State<S>& state);

}  // namespace starling::optim
