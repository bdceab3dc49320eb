// csv: a table whose target column is predicted from the others.
#pragma once

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"
#include "models/data/table_builder.h"

namespace starling::models {

inline constexpr std::size_t kTableColumnsLimit = 10'000;
inline constexpr std::size_t kWordsLimit = 10'000;    // different ones in a column
inline constexpr std::size_t kWordBytesLimit = 1000;  // of a name or a word

inline constexpr std::size_t kClassesLimit = 1000;

// Reads data.path, and data.test-path or a held-out part of data.path.
Result<Data> read_csv(const DataOptions& options);

// The text of data.path, or of another file of its kind, in UTF-8.
Result<std::string> read_table_text(const DataOptions& options, const std::string& path);

// The layout with the forms in which this file writes numbers and dates, where its cells prove any.
Result<TableLayout> as_written(TableLayout layout, const DataOptions& options,
                               const std::string& path);

// Adds the rows of any file that has the columns of the builder's layout, in any order, to `set`;
// returns notes about the file. Rows without a target are left out; options.missing says how to
// treat a missing cell.
Result<std::vector<std::string>> read_rows(const DataOptions& options, const std::string& path,
                                           TableBuilder& builder, Dataset& set);

}  // namespace starling::models
