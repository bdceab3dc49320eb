// Survey: the statistics of a table's samples, which the founders exchange so that all make the
// same features of the same cells without seeing each other's rows. The merged surveys of all
// founders define a model's features.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/data/dataset.h"
#include "models/data/dealt_file.h"
#include "models/data/moments.h"
#include "models/data/penalty_trial.h"

namespace starling::models {

// Of a part of a column of the file.
struct ColumnSurvey {
  std::string name;
  Content content = Content::empty;
  Moments moments;                 // of numbers, without missing ones
  std::vector<std::string> words;  // ascending, "" for a missing one; none when hashed
  std::string of = {};             // the file's column, of a part that is not its first one
  ColumnForm form = {};            // of the file's column, at the first founder

  // Whether all its words are true or false, in any spelling, or its numbers are 1 or 0.
  bool is_boolean() const;
};

struct Survey {
  std::vector<ColumnSurvey> columns;  // in the order of the file
  std::string target;
  bool classifies = false;
  Moments amounts;                   // of the target, for regression
  bool is_log = false;               // of its logarithms
  std::vector<std::string> classes;  // of the target, ascending, for classification
  std::vector<double> class_rows;    // of each; empty: not known
  double rows = 0;
  unsigned hash_bits = 0;                 // see DataOptions
  bool decimal_comma = false;             // a file has 3,14; a model of it reads that too
  std::vector<std::string> missing = {};  // words for a missing number, ascending; none when hashed
  std::vector<std::string> missing_cells = {};  // what is missing anywhere; ascending
  bool folds_case = false;                      // see TableLayout
  ColumnForm target_form = {};                  // of amounts
  std::string site = {};  // the node that tells it; empty: merged, or not known
  // From an existing model: overrides all other surveys, unless a number of it is implausible
  // beside theirs.
  bool is_fixed = false;
  // With data.shard = auto: the file that is dealt out, the same at all nodes.
  std::optional<DealtFile> dealt = {};
  // With model.l2 = auto, of this founder's rows, or merged of all.
  std::optional<PenaltyTrial> trial = {};

  const ColumnSurvey* find(std::string_view name) const;
};

// The place in these words or classes, ascending, of a word, or of the one that says the same of
// true and false where all of them do.
std::optional<std::size_t> find_word(const std::vector<std::string>& words,
                                     const std::string& word);

// The limit of one survey, and of all merged, in the text form.
inline constexpr std::size_t kSurveyBytesLimit = std::size_t{512} << 10;

// The survey of these rows of a data set with TableFeatures. What fewer than `suppress_below` rows
// have is left out: a word, a class, the moments of a column; of fewer rows in all, everything. The
// words for a missing number are not counted, and left out if anything may be.
Survey make_survey(const Dataset& set, std::span<const std::uint32_t> rows, unsigned hash_bits,
                   std::size_t suppress_below = 0, bool is_log = false);

// The same on every node for the same surveys in the same order. Numbers of a founder that lie far
// from those of the others do not count (plausible.h). The error names the column, the
// target or the dealt file in which two surveys differ, and both values.
Result<Survey> merge(std::span<const Survey> of_founders);

// A text of netstrings, LENGTH:BYTES one after the other, with numbers in decimal that read back
// exactly. decode_survey() takes outside data: anything else, or too large, is an error.
std::string encode(const Survey& survey);
Result<Survey> decode_survey(std::string_view text);

// Refuses a survey too large to send; the error says which part takes the room.
Result<void> check_size(const Survey& survey);

}  // namespace starling::models
