// csv: a table with a header, one column of which is predicted from the others. A column whose
// cells are all numbers is numeric; any other holds words. Rows with an empty cell are dropped.
#pragma once

#include "base/result.h"
#include "models/data_options.h"
#include "models/dataset.h"

namespace starling::models {

inline constexpr std::size_t kTableColumnsLimit = 10'000;
inline constexpr std::size_t kWordsLimit = 10'000;    // different ones in a column
inline constexpr std::size_t kWordBytesLimit = 1000;  // of a name or a word

// Reads data.path, and data.test-path or a held-out part, to regress on data.target.
Result<Data> read_csv(const DataOptions& options);

}  // namespace starling::models
