// Dataset: samples as they were read, features beside labels or targets. Immutable once built;
// objectives read rows of it by index and never copy it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/data/columns/column_kind.h"

namespace starling::models {

// Row-major; element (r, c) is values[r * columns + c] * scale. Images stay bytes in memory.
struct ByteFeatures {
  std::vector<std::uint8_t> values;
  double scale = 1.0 / 255.0;
};

// Row-major; element (r, c) is values[r * columns + c].
struct DenseFeatures {
  std::vector<double> values;
};

// Compressed sparse rows: row r has entries row_start[r] to row_start[r + 1], columns ascending.
struct SparseFeatures {
  std::vector<std::uint32_t> row_start;  // rows + 1 entries
  std::vector<std::uint32_t> column;
  std::vector<float> value;
};

// Columns of numbers and columns of words, raw: the feature map turns them into features. Each is a
// part of a column of the file.
struct TableFeatures {
  struct Column {
    std::string name;
    Content content = Content::numbers;
    std::size_t slot = 0;  // its place among the columns of words, or among all others
    std::string of = {};   // the file's column, of a part that is not its first one
    ColumnForm form = {};  // of the file's column
  };
  std::vector<Column> columns;  // in the order of the file
  std::vector<std::vector<std::string>>
      words;                              // by slot, the words in the files, ascending; "": missing
  std::size_t number_columns = 0;         // empty ones too
  std::vector<double> numbers;            // row-major, rows x number_columns; NaN: missing
  std::vector<std::uint32_t> codes;       // row-major, rows x words.size(), indices in words
  std::string target;                     // the name of the column that is predicted
  bool decimal_comma = false;             // the files have 3,14
  std::vector<std::string> missing = {};  // words that stand for a missing number; ascending
  std::vector<std::string> missing_cells = {};  // what is missing in any column
  bool folds_case = false;                      // see TableLayout
  ColumnForm target_form = {};                  // of amounts
};

// Of rows that are images: channel c of the pixel at (y, x) is column (y * width + x) * channels +
// c.
struct ImageShape {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 1;

  std::size_t size() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

struct Dataset {
  bool has_truth() const { return classes > 0 || !targets.empty(); }
  bool is_table() const { return std::holds_alternative<TableFeatures>(features); }

  std::variant<DenseFeatures, ByteFeatures, SparseFeatures, TableFeatures> features;
  std::size_t rows = 0;
  std::size_t columns = 0;           // as read; a feature map may give another number
  std::vector<std::int32_t> labels;  // classification: 0 .. classes - 1, one a row; else empty
  std::vector<double> targets;       // regression: one a row; else empty
  std::size_t classes = 0;           // 0 for regression
  // For a table, ascending, one a class: other nodes may know other classes.
  std::vector<std::string> class_names = {};
  std::optional<ImageShape> image = {};  // empty: columns have no place in an image
  std::vector<std::string> keys = {};  // with data.split = columns, of each row; else empty
};

class RowReader;

// The whole data of a source: the same on every node for the same options.
struct Data {
  Dataset train;
  Dataset test;             // may have no rows: then a node evaluates on its own samples
  std::string description;  // "digits: 10,000 images of 28x28, 10 classes", for logs and status
  std::vector<std::string> notes;  // "dropped 207 of 20,640 rows with an empty cell", …
  // Of a file: of its rows to train on, in their order; of a table, see dealt_file.h.
  std::uint64_t train_hash = 0;
  // Reads rows of `train` again: a node that trains keeps only its own. Null: it keeps all.
  std::shared_ptr<RowReader> reader = {};
};

inline constexpr std::size_t kImageSideLimit = 1024;    // pixels, and channels
inline constexpr std::size_t kRowsLimit = 100'000'000;  // of one data set; indices are 32 bits
inline constexpr std::size_t kRowsMergedLimit = 1'000'000'000'000;  // of all nodes together
inline constexpr std::size_t kColumnsLimit = 10'000'000;            // of one data set

}  // namespace starling::models
