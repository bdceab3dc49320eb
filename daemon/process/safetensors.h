// The safetensors format: the length of a header as 8 bytes, little-endian, the header in JSON,
// then the numbers. Readable by PyTorch, JAX, NumPy and others with the library of that name.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/payload.h"
#include "base/result.h"
#include "models/nets/model_card.h"
#include "models/nets/model_options.h"

namespace starling::daemon {

inline constexpr std::size_t kSafetensorsHeaderLimit = std::size_t{16} << 20;

struct PlacedTensor {
  std::string name, type;  // the type as "F32"
  std::vector<std::size_t> extents;
  std::size_t bytes = 0, begin = 0;  // in the file
};
// The head of a file whose tensors follow it without gaps, in this order; ignores their `begin`.
std::string safetensors_head(std::span<const PlacedTensor> tensors,
                             const std::map<std::string, std::string>& metadata);

// `places` says where the tensors lie in `parameters`.
std::string safetensors(std::span<const optim::ParameterBlock> places,
                        std::span<const double> parameters, models::Precision precision,
                        const std::map<std::string, std::string>& metadata);

// Reads the head of a file, which is outside data; tensors of any type, each within the file.
Result<std::vector<PlacedTensor>> read_safetensors_head(const Payload& file);

struct Tensor {
  std::vector<std::size_t> extents;
  std::vector<double> numbers;
};
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;  // of 32 or 64 bit
  models::Precision precision = models::Precision::f32;
};

// Of a file whose tensors may be of any type.
Result<std::map<std::string, std::string>> read_safetensors_metadata(std::string_view bytes);
// Reads a file, which is outside data: the error says what is wrong.
Result<Safetensors> read_safetensors(std::string_view bytes);

}  // namespace starling::daemon
