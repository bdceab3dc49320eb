// TensorTable: what a trainer's segment holds: names, shapes and types of its tensors, and what the
// daemon does with each (docs/attach.md). Parsed from outside text and checked once; immutable
// afterwards.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "optim/codec/format.h"
#include "optim/local/blocks.h"

namespace starling::daemon {

inline constexpr std::size_t kTensorsLimit = 65'536;
inline constexpr std::size_t kTableBytesLimit = 8 * 1024 * 1024;
inline constexpr std::size_t kSegmentAlignment = 64;  // of regions and tensors, bytes

enum class TensorRole { averaged, statistic, donor, local };

struct TrainerTensor {
  std::string name;
  std::vector<std::size_t> shape;  // row-major; empty: one number
  const optim::Format* format;     // null: i64
  TensorRole role;
  std::size_t offset;   // of its first byte, from the begin of the region
  std::size_t numbers;  // the product of the shape
  bool is_frozen;       // nothing steps it

  std::size_t width() const { return format ? format->width : sizeof(std::int64_t); }
  std::size_t bytes() const { return numbers * width(); }
  // Part of the vector that is exchanged.
  bool is_exchanged() const {
    return role == TensorRole::averaged || role == TensorRole::statistic;
  }
};

class TensorTable {
 public:
  // Of tensors that lie in a region of that many bytes. The error names the tensor, the value seen
  // and the values allowed.
  static Result<TensorTable> parse(std::string_view text, std::size_t region_bytes);

  std::span<const TrainerTensor> tensors() const { return tensors_; }
  // The vector that is exchanged: averaged tensors and statistics, in the order of the table.
  std::span<const optim::ParameterBlock> blocks() const { return blocks_; }
  std::vector<optim::ParameterBlock> statistics() const;  // some of the blocks
  std::size_t donated_bytes() const;                      // of the tensors of role donor
  std::size_t dimension() const { return optim::dimension_of(blocks_); }
  // A line for each tensor: name, shape and role. Two models with the same schema may be averaged;
  // types may differ.
  std::string schema() const;

 private:
  std::vector<TrainerTensor> tensors_;
  std::vector<optim::ParameterBlock> blocks_;
};

// The first difference of two schemas, for people: "tensor 3 is \"fc.weight 10x64 averaged\" there
// and \"fc.weight 10x32 averaged\" here". REQUIRES that they differ.
std::string first_difference(std::string_view here, std::string_view there);

}  // namespace starling::daemon
