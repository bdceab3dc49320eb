// libsvm: one sample a line, `LABEL INDEX:VALUE INDEX:VALUE ...`, indices from 1, ascending; other
// values are 0. Stays sparse in memory, and unscaled.
#pragma once

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

inline constexpr std::size_t kLibsvmClassesLimit = 1000;
inline constexpr std::size_t kEntriesLimit = 4'000'000'000;  // of one data set; offsets are 32 bits

// Labels are -1 and +1, which become classes 0 and 1, or 0 to k - 1. Reads data.path, and
// data.test-path or a held-out part.
Result<Data> read_libsvm(const DataOptions& options);

}  // namespace starling::models
