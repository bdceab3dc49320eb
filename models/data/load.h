// load: from options to data, whatever the source. To add a data source: a file in models/data/,
// its case in load.cpp, its kind in data_options.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

// Draws or reads the whole data set. Files are outside data: an error is one line with the file,
// the place in it, the value seen and the values allowed.
Result<Data> load(const DataOptions& options);

// These rows, ascending, of the `train` that load() once gave with that train_hash. The error says
// that the file is gone, or has changed.
Result<Dataset> reread(const DataOptions& options, std::uint64_t train_hash,
                       const std::vector<std::uint32_t>& rows);

// What a trained model is asked about: the rows held out where the source has some, else all.
// Sparse rows get `columns`, those of the model; what they have beyond is left out.
Result<Dataset> load_shown(DataOptions options, std::size_t columns);

// ---- The sources, but for csv, each in a .cpp of its name. What is drawn is the same for the same
// seed, on every machine up to rounding of the mathematical functions.

// `samples` to train, classes as even as can be, and a fifth as many held out.
Data draw_digits(std::size_t samples, std::uint64_t seed);
// `samples` to train and a fifth as many held out.
Data draw_houses(std::size_t samples, std::uint64_t seed);
// U(s, k); arithmetic wraps, k < 2^32.
double reference_uniform(std::uint64_t s, std::uint64_t k);
Data make_reference(const ReferenceOptions& options);

// `path` is a directory or a prefix that train-images-idx3-ubyte, train-labels-idx1-ubyte and the
// t10k- pair complete, each with or without .gz. The t10k- pair is looked for at `test_path` where
// that is not empty; at `path` it may be missing: then nothing is held out.
Result<Data> read_idx(const std::string& path, const std::string& test_path);
// The t10k- pair of such a directory or prefix, or the other one where that is missing.
Result<Dataset> read_idx_held_out(const std::string& path);
// Only `train`, and of that only these rows, ascending; train_hash is that of all.
Result<Data> reread_idx(const std::string& path, const std::vector<std::uint32_t>& rows);
// Labels are -1 and +1, which become classes 0 and 1, or 0 to k - 1. Reads data.path, and
// data.test-path or a held-out part.
Result<Data> read_libsvm(const DataOptions& options);

}  // namespace starling::models
