// The safetensors format: the length of a header as 8 bytes, little end first, the header in JSON,
// then the numbers. Readable by PyTorch, JAX, NumPy and others with the library of that name.
#pragma once

#include <map>
#include <span>
#include <string>

#include "models/model_options.h"

namespace starling::daemon {

// One tensor of one dimension, "parameters", in the order in which nodes average them.
std::string safetensors(std::span<const double> parameters, models::Precision precision,
                        const std::map<std::string, std::string>& metadata);

}  // namespace starling::daemon
