// DataOptions: section `data` of the settings, read and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "models/data/cell.h"
#include "models/data/table_schema.h"

namespace starling::models {

enum class Source { digits, houses, reference, idx, csv, libsvm };

// How samples are ordered before they are cut into one piece a node.
struct Partition {
  enum class Kind { iid, by_label, dirichlet, contiguous };
  Kind kind = Kind::iid;
  double alpha = 0;  // of dirichlet; smaller: each node sees fewer classes

  bool operator==(const Partition&) const = default;
};

// What the nodes hold of one table: rows with all columns, or columns of the same rows.
enum class Split { rows, columns };

// Which piece is this node's.
struct ShardChoice {
  enum class Kind { automatic, all, part };
  Kind kind = Kind::automatic;
  std::size_t index = 0;  // of part: 0 <= index < count
  std::size_t count = 1;

  bool operator==(const ShardChoice&) const = default;
};

// Problem(n, d, m, h, noise, S) of the reference; see models/data/reference.cpp.
struct ReferenceOptions {
  std::size_t n = 16;
  std::size_t d = 10;
  std::size_t m = 20;
  double h = 1.0;
  double noise = 0.1;
  std::uint64_t seed = 1000;
};

// The kind of a table's target; automatic: by the cells of the column.
enum class Task { automatic, regression, classification };

// What a table's numbers have before their fraction; automatic: by the cells.
enum class Decimal { automatic, point, comma };

// Which cells of a table are numbers: in any form that people write, and dates; or digits alone.
enum class Numbers { read, plain };

// Whether words that differ in case and blanks alone are one.
enum class WordsCase { keep, fold };
// How amounts that are predicted are scaled: as they are, or by their logarithm.
enum class TargetScale { plain, log };

// How to treat a row with a missing cell.
enum class Missing { impute, drop, error };

// The global loss is the mean over these.
enum class Weight { nodes, samples, steps };

inline constexpr std::size_t kMissingWordsMost = 64, kMissingWordBytesLimit = 40;
inline constexpr unsigned kHashBitsLimit = 16;

struct DataOptions {
  Source source = Source::digits;
  std::string path = {};
  std::string test_path = {};
  std::string target = {};
  Split split = Split::rows;
  std::string key = {};  // the column that names the rows, with Split::columns
  std::string schema_path = {}, dictionary_path = {};
  std::shared_ptr<const TableSchema> schema = {};  // of schema_path; null: none
  std::vector<std::string> ignore = {};            // columns of a table that are left out
  Task task = Task::automatic;
  TargetScale target_scale = TargetScale::plain;
  Missing missing = Missing::impute;
  char separator = 0;  // of a table; 0: found in its first line
  Decimal decimal = Decimal::automatic;
  Numbers numbers = Numbers::read;
  std::string encoding = "auto";  // of the file; auto: UTF-8, or UTF-16 by its mark
  std::vector<std::string> missing_words = default_missing_words();  // in any case
  WordsCase words_case = WordsCase::keep;
  bool has_header = true;
  unsigned hash_bits =
      0;  // words become one of 2^bits features each, unnamed; 0: named, one a word
  // What fewer rows of this node have is not told in surveys; 0: all is.
  std::size_t suppress_below = 0;
  Weight weight = Weight::nodes;
  Partition partition = {};
  ShardChoice shard = {};
  ReferenceOptions reference = {};
  std::string site = {};  // the node, for others' messages
  std::size_t samples = 10000;
  double holdout = 0.2;
  bool refits = false;  // at the end of a run, on held-out rows too
  std::uint64_t seed = 1;
};

void describe_data(Schema& schema);
DataOptions read_data_options(Reader& reader);
// The agreed keys and their values. If each node says what it holds (data.shard), the keys that
// deal out one data set need not agree.
std::vector<Term> agreed(const DataOptions& options);

// Whether a row of data.path is kept from training, the same on every node: by a hash of row and
// data.seed alone, about data.holdout of the rows. None where there is a data.test-path.
bool is_held_out(const DataOptions& options, std::uint64_t row);

// As a user writes them: "digits", "dirichlet:0.5".
std::string_view to_string(Source source);
std::string to_string(const Partition& partition);

}  // namespace starling::models
