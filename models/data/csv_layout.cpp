#include "models/data/csv_layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "models/data/cell.h"
#include "models/data/columns/truth.h"
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

std::string plural(std::string_view kind) {
  return fmt::format("{}{}", kind, kind == "words" ? "" : "s");
}

class Decider {
 public:
  Decider(const TableProfile& profile, const DataOptions& options)
      : profile_(profile), options_(options) {}

  CsvDecision decide() {
    const bool has_target = options_.split == Split::rows || profile_.find(options_.target);
    if (has_target) decision_.layout.target = options_.target;
    if (options_.split == Split::columns) decision_.layout.key = options_.key;
    decision_.layout.decimal_comma = profile_.marks.commas();
    decision_.layout.missing_cells = options_.missing_words;
    decision_.layout.folds_case = options_.words_case == WordsCase::fold;
    if (profile_.marks.commas() && options_.decimal == Decimal::automatic)
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
    if (options_.schema)
      for (const ColumnProfile& column : profile_.columns) check_schema(column);
    note_missing();
    note_constant();
    note_forms();
    if (decision_.layout.columns.empty())
      refuse("no column is left beside the target {}{}", options_.target,
             options_.split == Split::columns
                 ? "; with data.split = columns each site has a column of its own"
                 : "");
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
    else if (!profile_.find(options_.target) && options_.split == Split::rows)
      refuse("data.target = \"{}\" is no column, expected one of {}", options_.target,
             profile_.names());
    if (!options_.key.empty() && !profile_.find(options_.key))
      refuse("data.key = \"{}\" is no column, expected one of {}", options_.key, profile_.names());
    for (const std::string& name : options_.ignore)
      if (!profile_.find(name))
        refuse("data.ignore = \"{}\" is no column, expected some of {}", name, profile_.names());
    if (std::ranges::count(options_.ignore, options_.target) > 0)
      refuse("data.ignore holds the target {}", options_.target);
  }

  bool is_left_out(const ColumnProfile& column) {
    if (std::ranges::count(options_.ignore, column.name) > 0 || column.name == options_.key)
      return true;
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
    const Content content = column.form.content();
    if (column.words.count > 0) check_words(column);
    decision_.layout.columns.push_back({column.name, column.form});
    if (content == Content::numbers) look_at_numbers(column);
    if (content == Content::words && !decision_.layout.folds_case) look_at_spellings(column);
    if (column.values.size() == 1 && column.missing.count == 0 && profile_.rows >= kRowsCounted)
      constant_.push_back(column.name);
    note_infinite(column);
    if (content == Content::empty)
      note("column {}: every cell is missing", column.name);
    else if (column.missing.count > 0 && options_.missing == Missing::impute)
      (content == Content::numbers ? missing_numbers_ : missing_words_)
          .push_back(fmt::format("{} {} ({})", column.name, with_commas(column.missing.count),
                                 ways(column)));
  }

  // Refuses a column of another kind, or with other words, than the schema says.
  void check_schema(const ColumnProfile& column) {
    const SchemaColumn* const wanted = options_.schema->find(column.name);
    if (!wanted || column.present() == 0) return;
    const std::string_view kind = column.form.kind->name();
    const bool is_class = column.name == options_.target && decision_.layout.classifies;
    if (!is_class && !suits(kind, wanted->kind))
      return refuse("column {} holds {} here, and {} in the schema{}", column.name, plural(kind),
                    plural(wanted->kind),
                    column.words.count > 0
                        ? fmt::format(" (line {}: \"{}\")", column.words.line, column.words.first)
                        : "");
    if (!wanted->words.empty() && (is_class || !column.form.has_numbers()))
      check_schema_words(column, wanted->words);
  }

  static bool suits(std::string_view kind, std::string_view wanted) {
    const auto has_words = [](std::string_view one) { return one == "words" || one == "boolean"; };
    return kind == wanted || (has_words(kind) && has_words(wanted)) ||
           (kind == "number" && wanted == "boolean");
  }

  void check_schema_words(const ColumnProfile& column, const std::vector<std::string>& wanted) {
    const std::set<std::string> words(column.values.begin(), column.values.end());
    for (const std::string& word : words) {
      const auto is_same = [&](const std::string& one) {
        return one == word || (truth_of(one) && truth_of(one) == truth_of(word)) ||
               (decision_.layout.folds_case && folded(one) == folded(word));
      };
      if (std::ranges::any_of(wanted, is_same)) continue;
      return refuse(
          "column {} holds \"{}\", and the schema has {}; a dictionary with [{}] words = {}:... "
          "says which it is (data.dictionary)",
          column.name, word, fmt::join(wanted, ", "), column.name, word);
    }
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

  // How the cells of a column are read that are no digits alone.
  void look_at_numbers(const ColumnProfile& column) {
    const ColumnForm& form = column.form;
    const std::string_view kind = form.kind->name();
    if (kind != "number") {
      forms_.push_back(fmt::format("{} as {}s{}, such as \"{}\"", column.name, kind,
                                   form.order == DateOrder::day_first     ? " with the day first"
                                   : form.order == DateOrder::month_first ? " with the month first"
                                                                          : "",
                                   column.numbers.first));
    } else if (column.forms.numbers.limits.count > 0) {
      forms_.push_back(fmt::format("{} as numbers, {} of them limits such as \"{}\"", column.name,
                                   with_commas(column.forms.numbers.limits.count),
                                   column.forms.numbers.limits.first));
    } else if (column.forms.numbers.formatted.count > 0) {
      const std::string& cell = column.forms.numbers.formatted.first;
      if (const auto number = form.kind->number(cell, form))
        forms_.push_back(
            fmt::format("{} as numbers, such as {:.10g} for \"{}\"", column.name, *number, cell));
    }
    note_lone_number(column);
  }

  void note_forms() {
    if (!forms_.empty())
      note("read: {}; data.numbers = plain reads only numbers such as 1234.5",
           fmt::join(forms_, "; "));
  }

  // A number such as 999 or -1 that often stands in for a missing one.
  void note_lone_number(const ColumnProfile& column) {
    if (const auto lone = lone_number(column))
      note(
          "column {}: {:.10g} stands in {} cells, and the other numbers lie between {:.6g} and "
          "{:.6g}; if it says that the number is missing, data.missing-words = {} says so",
          column.name, lone->value, with_commas(lone->count), lone->least, lone->most,
          fmt::join(with_word(fmt::format("{:.10g}", lone->value)), ","));
  }

  std::vector<std::string> with_word(std::string word) const {
    std::vector<std::string> words = options_.missing_words;
    words.push_back(std::move(word));
    return words;
  }

  // Words that differ in case and blanks alone.
  void look_at_spellings(const ColumnProfile& column) {
    std::map<std::string, std::string> seen;
    if (column.values.size() > kWordsLimit || column.form.kind->name() == "boolean") return;
    const std::set<std::string> words(column.values.begin(), column.values.end());
    for (const std::string& word : words)
      if (const auto [at, is_new] = seen.emplace(folded(word), word); !is_new)
        return note(
            "column {} has \"{}\" and \"{}\", which count as two words; data.words-case = fold "
            "makes them one",
            column.name, at->second, word);
  }

  // Refuses cells that are no numbers, or several numbers, in a column of numbers.
  bool refuse_format(const ColumnProfile& column) {
    const NumberForms& forms = column.forms.numbers;
    const auto are_all = [&](std::size_t cells) {
      return cells > 0 && cells == column.words.count + column.numbers.count;
    };
    if (forms.comma.count > 0 && are_all(forms.amounts.count) &&
        column.form.content() == Content::words)
      refuse(
          "column {}: line {} holds \"{}\"{}; write numbers with a decimal point, or in the whole "
          "file with a comma (data.decimal = comma)",
          column.name, forms.comma.line, forms.comma.first,
          forms.point.count == 0
              ? ""
              : fmt::format(", and line {} \"{}\"", forms.point.line, forms.point.first));
    else if (forms.comma_or_groups.count > 0 && are_all(forms.amounts.count) &&
             column.form.content() == Content::words)
      refuse(
          "column {}: line {} holds \"{}\", which may be a number above a thousand "
          "(data.decimal = point) or one with a decimal comma (data.decimal = comma); name one",
          column.name, forms.comma_or_groups.line, forms.comma_or_groups.first);
    else if (column.is_amount() && forms.units.size() > 1 &&
             column.form.content() == Content::words)
      refuse_units(column);
    else if (column.is_amount())
      refuse(
          "column {}: line {} holds \"{}\", and {} of its {} cells are {}s; write NA where one "
          "is missing",
          column.name, column.words.line, column.words.first, with_commas(column.numbers.count),
          with_commas(column.present()),
          column.form.has_numbers() ? column.form.kind->name() : "number");
    else
      return false;
    return true;
  }

  void refuse_units(const ColumnProfile& column) {
    std::vector<std::string> cells;
    for (const auto& [unit, count] : column.forms.numbers.units)
      cells.push_back(fmt::format("\"{}\" in line {}", count.first, count.line));
    refuse("column {} holds numbers of several units: {}; write all in one", column.name,
           fmt::join(cells, ", "));
  }

  // Refuses dates whose order no cell proves, or that cells contradict.
  bool refuse_dates(const ColumnProfile& column) {
    const DateForms& dates = column.forms.dates;
    const std::size_t cells = dates.dates.count + dates.times.count;
    if (static_cast<double>(cells) < kMostly * static_cast<double>(column.present())) return false;
    const CellCount& day = dates.day_first;
    const CellCount& month = dates.month_first;
    if (day.count > 0 && month.count > 0)
      suspect(column,
              "column {} holds dates with the day first (\"{}\" in line {}) and with the month "
              "first (\"{}\" in line {}); write all as 2013-01-31",
              column.name, day.first, day.line, month.first, month.line);
    else if (dates.ambiguous.count > 0)
      suspect(column,
              "column {} holds dates such as \"{}\" in line {}, and none tells whether day or "
              "month comes first; write them as 2013-01-31",
              column.name, dates.ambiguous.first, dates.ambiguous.line);
    else
      suspect(column,
              "column {} holds dates or times (\"{}\"); put what matters of them, such as the hour "
              "or the weekday, into columns of numbers",
              column.name, dates.dates.count > 0 ? dates.dates.first : dates.times.first);
    return true;
  }

  void check_words(const ColumnProfile& column) {
    const bool hashes = options_.hash_bits > 0;
    const double most = std::max(static_cast<double>(kWordsUnsuspected),
                                 kMostlyWords * static_cast<double>(column.present()));
    const std::size_t different = column.values.size();
    if (column.form.content() == Content::words && refuse_dates(column)) return;
    if (refuse_format(column)) return;
    if (!hashes && (different > kWordsLimit || static_cast<double>(different) > most))
      suspect(column,
              "column {} holds {}{} different words in {} rows, such as \"{}\": ids or free text, "
              "which no node can learn from another's; data.words = hash:8 takes them regardless",
              column.name, different > kWordsLimit ? "more than " : "",
              with_commas(std::min(different, kWordsLimit)), with_commas(profile_.rows),
              column.words.first);
    else if (column.longest_bytes > kWordBytesLimit)
      suspect(column, "column {} holds texts of up to {} bytes, expected words of at most {}",
              column.name, with_commas(column.longest_bytes), kWordBytesLimit);
    else if (column.numbers.count > 0 && column.form.kind->name() == "words")
      note("column {} is taken for words: line {} holds \"{}\"", column.name, column.words.line,
           column.words.first);
  }

  void decide_target(const ColumnProfile& column) {
    decision_.layout.classifies = classifies(column);
    decision_.layout.target_form = column.form;
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
  std::vector<std::string> missing_numbers_, missing_words_, constant_, forms_;
};

}  // namespace

CsvDecision decide_layout(const TableProfile& profile, const DataOptions& options) {
  return Decider(profile, options).decide();
}

}  // namespace starling::models
