#include "models/data/csv_layout.h"

#include <algorithm>

#include "base/text.h"
#include "models/data/cell.h"
#include "models/data/csv.h"

namespace starling::models {
namespace {

// A column with more different words, a new one in most rows, only identifies rows.
constexpr std::size_t kWordsUnsuspected = 50;
constexpr double kMostlyWords = 0.5;
// Whole numbers with at most so many values, each in several rows, count as classes.
constexpr std::size_t kWholeClasses = 20;
constexpr std::size_t kRowsPerClass = 5;
// A column that counts so many rows does so on purpose, whatever its name.
constexpr std::size_t kRowsCounted = 10;

class Decider {
 public:
  Decider(const TableProfile& profile, const DataOptions& options)
      : profile_(profile), options_(options) {}

  CsvDecision decide() {
    decision_.layout.target = options_.target;
    decision_.layout.decimal_comma = profile_.has_decimal_comma;
    if (profile_.has_decimal_comma && options_.decimal == Decimal::automatic)
      note("numbers have decimal commas, such as 3,14 (data.decimal = auto)");
    check_names();
    for (const ColumnProfile& column : profile_.columns) {
      if (column.name == options_.target)
        decide_target(column);
      else if (!is_left_out(column))
        decide_feature(column);
    }
    std::ranges::sort(decision_.layout.missing);
    const auto repeated = std::ranges::unique(decision_.layout.missing);
    decision_.layout.missing.erase(repeated.begin(), repeated.end());
    note_missing();
    note_constant();
    if (decision_.layout.columns.empty())
      refuse("no column is left beside the target {}", options_.target);
    if (!suspects_.empty())
      refuse("data.ignore = {} leaves {} out", fmt::join(suspects_, ","),
             suspects_.size() == 1 ? "it" : "them");
    return std::move(decision_);
  }

 private:
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    decision_.notes.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void refuse(fmt::format_string<Args...> text, Args&&... args) {
    decision_.refusals.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  // A problem that leaving the column out would solve.
  template <class... Args>
  void suspect(const ColumnProfile& column, fmt::format_string<Args...> text, Args&&... args) {
    refuse(text, std::forward<Args>(args)...);
    suspects_.push_back(column.name);
  }

  void check_names() {
    if (options_.target.empty())
      refuse("data.target = \"\" names no column, expected one of {}", profile_.names());
    else if (!profile_.find(options_.target))
      refuse("data.target = \"{}\" is no column, expected one of {}", options_.target,
             profile_.names());
    for (const std::string& name : options_.ignore)
      if (!profile_.find(name))
        refuse("data.ignore = \"{}\" is no column, expected some of {}", name, profile_.names());
    if (std::ranges::count(options_.ignore, options_.target) > 0)
      refuse("data.ignore holds the target {}", options_.target);
  }

  bool is_left_out(const ColumnProfile& column) {
    if (std::ranges::count(options_.ignore, column.name) > 0) return true;
    const bool counts = options_.has_header && column.counts_rows &&
                        column.numbers.count == profile_.rows &&
                        profile_.rows >= (column.is_named ? kRowsCounted : 2);
    const bool numbers =
        options_.has_header && column.numbers_rows && profile_.rows >= kRowsCounted;
    if (counts && !column.is_named)
      note("left out: column {}, which has no name and counts the rows", column.name);
    else if (numbers)
      note("left out: column {}, which has no name and holds numbers of rows in any order",
           column.name);
    else if (counts)
      note(
          "column {} counts the rows, which tells nothing of others; data.ignore = {} leaves it "
          "out",
          column.name, column.name);
    return (counts && !column.is_named) || numbers;
  }

  void decide_feature(const ColumnProfile& column) {
    std::vector<std::string>& missing = decision_.layout.missing;
    missing.insert(missing.end(), column.missing_words.begin(), column.missing_words.end());
    ColumnKind kind = ColumnKind::words;
    if (column.present() == 0)
      kind = ColumnKind::empty;
    else if (column.words.count == 0)
      kind = ColumnKind::numbers;
    else
      check_words(column);
    decision_.layout.columns.push_back({column.name, kind});
    if (column.values.size() == 1 && column.missing.count == 0 && profile_.rows >= kRowsCounted)
      constant_.push_back(column.name);
    note_infinite(column);
    if (kind == ColumnKind::empty)
      note("column {}: every cell is missing", column.name);
    else if (column.missing.count > 0 && options_.missing == Missing::impute)
      (kind == ColumnKind::numbers ? missing_numbers_ : missing_words_)
          .push_back(fmt::format("{} {} ({})", column.name, with_commas(column.missing.count),
                                 ways(column)));
  }

  void note_missing() {
    if (!missing_numbers_.empty())
      note("missing of {} rows: {}; the mean over all nodes stands for a number",
           with_commas(profile_.rows), fmt::join(missing_numbers_, ", "));
    if (!missing_words_.empty())
      note("missing of {} rows: {}; a missing word is a category of its own",
           with_commas(profile_.rows), fmt::join(missing_words_, ", "));
  }

  void note_constant() {
    if (!constant_.empty())
      note("{} {} the same in every row, which tells nothing; data.ignore = {} leaves {} out",
           fmt::join(constant_, ", "), constant_.size() == 1 ? "is" : "are",
           fmt::join(constant_, ","), constant_.size() == 1 ? "it" : "them");
  }

  // A number that is not finite, as other programs write it, stands for a missing one here.
  void note_infinite(const ColumnProfile& column) {
    for (const std::string& word : column.missing_words)
      if (is_infinite(word))
        note(
            "column {}: \"{}\" in {} cells counts as missing; write a finite number for it, if it "
            "stands for a large one",
            column.name, word, with_commas(column.missing_as.at(word)));
  }

  // "NA" 12, empty 3; without the number of the only way
  static std::string ways(const ColumnProfile& column) {
    std::vector<std::string> ways;
    for (const auto& [cell, count] : column.missing_as)
      ways.push_back((cell.empty() ? "empty" : fmt::format("\"{}\"", cell)) +
                     (column.missing_as.size() > 1 ? " " + with_commas(count) : ""));
    return fmt::format("{}", fmt::join(ways, ", "));
  }

  // Refuses a column of numbers in formats for people.
  bool refuse_format(const ColumnProfile& column) {
    const auto are_all = [&](const CellCount& cells) {
      return cells.count > 0 && cells.count == column.words.count;
    };
    if (are_all(column.grouped))
      refuse("column {}: line {} holds \"{}\"; write numbers without thousands separators{}",
             column.name, column.grouped.line, column.grouped.first,
             profile_.has_decimal_comma || column.has_clear_groups
                 ? ""
                 : "; if it is a decimal comma, data.decimal = comma reads it");
    else if (are_all(column.decimal_commas))
      refuse(
          "column {}: line {} holds \"{}\"; write numbers with a decimal point, or in "
          "the whole file with a comma (data.decimal = comma)",
          column.name, column.decimal_commas.line, column.decimal_commas.first);
    else if (column.is_amount())
      refuse(
          "column {}: line {} holds \"{}\", and {} of its {} cells are numbers; write NA where a "
          "number is missing",
          column.name, column.words.line, column.words.first, with_commas(column.numbers.count),
          with_commas(column.present()));
    else
      return false;
    return true;
  }

  void check_words(const ColumnProfile& column) {
    const bool hashes = options_.hash_bits > 0;
    const double most = std::max(static_cast<double>(kWordsUnsuspected),
                                 kMostlyWords * static_cast<double>(column.present()));
    const std::size_t different = column.values.size();
    if (static_cast<double>(column.times.count) >= kMostly * static_cast<double>(column.present()))
      suspect(column,
              "column {} holds dates or times (\"{}\"); put what matters of them, such as the hour "
              "or the weekday, into columns of numbers",
              column.name, column.times.first);
    else if (refuse_format(column))
      return;
    else if (!hashes && (different > kWordsLimit || static_cast<double>(different) > most))
      suspect(column,
              "column {} holds {}{} different words in {} rows, such as \"{}\": ids or free text, "
              "which no node can learn from another's; data.words = hash:8 takes them regardless",
              column.name, different > kWordsLimit ? "more than " : "",
              with_commas(std::min(different, kWordsLimit)), with_commas(profile_.rows),
              column.words.first);
    else if (column.longest_bytes > kWordBytesLimit)
      suspect(column, "column {} holds texts of up to {} bytes, expected words of at most {}",
              column.name, with_commas(column.longest_bytes), kWordBytesLimit);
    else if (column.numbers.count > 0)
      note("column {} is taken for words: line {} holds \"{}\"", column.name, column.words.line,
           column.words.first);
  }

  void decide_target(const ColumnProfile& column) {
    decision_.layout.classifies = classifies(column);
    if (column.present() == 0) return refuse("target {}: every cell is missing", column.name);
    if (column.missing.count > 0 && options_.missing != Missing::error)
      note("{} of {} rows have no {} ({}) and are left out", with_commas(column.missing.count),
           with_commas(profile_.rows), column.name, ways(column));
    if (refuse_target_words(column) || refuse_classes(column)) return;
    if (column.values.size() == 1)
      note("target {}: every row holds {}, so that these rows alone teach nothing", column.name,
           *column.values.begin());
    if (options_.task == Task::automatic) say_task(column, column.values.size());
  }

  // As data.task says; automatic: words are classes, and so are a few whole numbers.
  bool classifies(const ColumnProfile& column) const {
    if (options_.task != Task::automatic) return options_.task == Task::classification;
    const std::size_t different = column.values.size();
    const bool is_few = column.is_whole && different <= kWholeClasses &&
                        (different <= 2 || kRowsPerClass * different <= column.present());
    return column.words.count > 0 || is_few;
  }

  // Refuses words in a target of numbers.
  bool refuse_target_words(const ColumnProfile& column) {
    if (column.words.count == 0) return false;
    if (options_.task != Task::classification && refuse_format(column)) return true;
    if (decision_.layout.classifies) return false;
    refuse(
        "target {}: line {} holds \"{}\", expected a number, or data.task = "
        "classification",
        column.name, column.words.line, column.words.first);
    return true;
  }

  bool refuse_classes(const ColumnProfile& column) {
    const std::size_t different = column.values.size();
    if (!decision_.layout.classifies || different <= kClassesLimit) return false;
    refuse("target {} has {} different values, expected at most {} classes", column.name,
           different > kWordsLimit ? "too many" : with_commas(different), kClassesLimit);
    return true;
  }

  void say_task(const ColumnProfile& column, std::size_t different) {
    if (!decision_.layout.classifies)
      note("target {} holds amounts: regression", column.name);
    else if (column.words.count > 0)
      note("target {} holds {} different words: classification", column.name, different);
    else
      note(
          "target {} holds {} different whole numbers, {} to {}: classification; data.task = "
          "regression takes them for amounts",
          column.name, different, column.least, column.most);
  }

  const TableProfile& profile_;
  const DataOptions& options_;
  CsvDecision decision_;
  std::vector<std::string> suspects_;  // columns
  std::vector<std::string> missing_numbers_, missing_words_, constant_;
};

}  // namespace

CsvDecision decide_layout(const TableProfile& profile, const DataOptions& options) {
  return Decider(profile, options).decide();
}

}  // namespace starling::models
