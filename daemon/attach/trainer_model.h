// The file of a trainer's model: safetensors with the tensors under the trainer's names, of its
// shapes and types, so that any reader of the format loads them into the trainer's own model.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "daemon/attach/tensor_table.h"

namespace starling::daemon {

// `x` are the exchanged tensors, `donated` the bytes of those of role donor; these are left out if
// their size does not fit the table, as local tensors are. REQUIRES x of the table's dimension.
std::string trainer_model(const TensorTable& table, std::span<const std::byte> donated,
                          std::span<const double> x,
                          const std::map<std::string, std::string>& metadata);

}  // namespace starling::daemon
