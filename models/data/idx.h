// idx: the format of the MNIST family. Big-endian: 0 0 8 (unsigned bytes), the number of
// dimensions, each dimension in 4 bytes, then the bytes themselves.
#pragma once

#include <string>

#include "base/result.h"
#include "models/data/dataset.h"

namespace starling::models {

inline constexpr std::size_t kIdxClasses = 10;              // labels are 0 to 9
inline constexpr std::size_t kIdxImagesLimit = 10'000'000;  // of one file
inline constexpr std::size_t kIdxSideLimit = 1024;          // pixels a side of an image

// `path` is a directory or a prefix that train-images-idx3-ubyte, train-labels-idx1-ubyte and the
// t10k- pair complete, each with or without .gz. The t10k- pair is looked for at `test_path` where
// that is not empty; at `path` it may be missing: then nothing is held out.
Result<Data> read_idx(const std::string& path, const std::string& test_path);

}  // namespace starling::models
