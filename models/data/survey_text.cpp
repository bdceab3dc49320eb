// The text form of a survey.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "base/utf8.h"
#include "models/data/csv.h"
#include "models/data/survey.h"

namespace starling::models {
namespace {

// The second one says which file is dealt out, in two words more.
constexpr std::string_view kFormat = "starling-survey-5", kDealtFormat = "starling-survey-6";

// What follows the target is named, and may be absent. A node of an earlier version refuses it.
constexpr std::string_view kTrial = "l2-trial", kClassRows = "class-rows", kLog = "log-target";

constexpr std::size_t kHashDigits = 16;

class Writer {
 public:
  void put(std::string_view word) {
    fmt::format_to(std::back_inserter(text_), "{}:{}", word.size(), word);
  }
  void put(std::size_t number) { put(std::string_view(fmt::to_string(number))); }
  void put(const std::vector<std::string>& words) {
    put(words.size());
    for (const std::string& word : words) put(std::string_view(word));
  }
  void put(const ColumnForm& form) {
    put(form.kind ? form.kind->name() : std::string_view());
    put(std::string_view(form.unit));
    put(static_cast<std::size_t>(form.order));
    for (const bool flag : {form.decimal_comma, form.has_limits, form.has_times})
      put(std::size_t{flag});
  }
  void put(double number) { put(std::string_view(fmt::to_string(number))); }
  void put(const Moments& moments) {
    for (const double number : {moments.count, moments.mean, moments.squares}) put(number);
  }
  std::string finish() { return std::move(text_); }

 private:
  std::string text_;
};

// Every size is checked against a limit and against what is left of the text.
class Taker {
 public:
  explicit Taker(std::string_view text) : rest_(text) {}

  Result<std::string_view> word() {
    constexpr std::size_t kLengthDigits = 4;  // of the largest length, kWordBytesLimit
    const std::size_t colon = rest_.substr(0, kLengthDigits + 1).find(':');
    const auto size = parse_integer(rest_.substr(0, std::min(colon, rest_.size())));
    if (colon == std::string_view::npos || !size || *size < 0 ||
        static_cast<std::size_t>(*size) > std::min(kWordBytesLimit, rest_.size() - colon - 1))
      return fail("a survey breaks off, or holds a word of more than {} bytes", kWordBytesLimit);
    const std::string_view word = rest_.substr(colon + 1, static_cast<std::size_t>(*size));
    if (!is_utf8(word)) return fail("a survey holds a word that is not UTF-8");
    rest_.remove_prefix(colon + 1 + word.size());
    return word;
  }

  Result<double> number() {
    TRY(const std::string_view text, word());
    const auto value = parse_number(text);
    if (!value) return fail("a survey holds \"{}\", expected a finite number", text.substr(0, 40));
    return *value;
  }

  Result<std::size_t> size(std::size_t limit) {
    TRY(const double value, number());
    if (!(value >= 0 && value <= static_cast<double>(limit)) || value != std::floor(value))
      return fail("a survey holds a count of {}, expected 0 to {}", value, limit);
    return static_cast<std::size_t>(value);
  }

  Result<std::vector<std::string>> words(std::size_t limit) {
    TRY(const std::size_t count, size(limit));
    std::vector<std::string> words;
    for (std::size_t i = 0; i < count; ++i) {
      TRY(const std::string_view next, word());
      words.emplace_back(next);
    }
    return words;
  }

  // Strictly ascending texts.
  Result<std::vector<std::string>> ascending(std::size_t limit) {
    TRY(auto found, words(limit));
    if (!std::ranges::is_sorted(found, std::ranges::less_equal()))
      return fail("a survey repeats or misorders its words");
    return found;
  }

  Result<Moments> moments() {
    constexpr double kMeanLimit = 1e100;  // so that no merger of surveys overflows
    constexpr double kSquaresLimit = 1e200;
    Moments result;
    TRY(const std::size_t count, size(kRowsMergedLimit));
    result.count = static_cast<double>(count);
    TRY(result.mean, number());
    TRY(result.squares, number());
    if (std::abs(result.mean) > kMeanLimit ||
        !(result.squares >= 0 && result.squares <= kSquaresLimit))
      return fail("a survey holds a mean of {} and squares of {}, expected at most {} and 0 to {}",
                  result.mean, result.squares, kMeanLimit, kSquaresLimit);
    return result;
  }

  Result<ColumnForm> form() {
    ColumnForm result;
    TRY(const std::string_view kind, word());
    result.kind = column_kind_named(kind);
    if (!result.kind && !kind.empty())
      return fail("a survey holds a column of kind \"{}\"", kind.substr(0, 40));
    TRY(const std::string_view unit, word());
    result.unit = unit;
    TRY(const std::size_t order, size(static_cast<std::size_t>(DateOrder::month_first)));
    result.order = static_cast<DateOrder>(order);
    for (bool* const flag : {&result.decimal_comma, &result.has_limits, &result.has_times}) {
      TRY(const std::size_t found, size(1));
      *flag = found == 1;
    }
    return result;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Result<DealtFile> take_dealt(Taker& taker) {
  DealtFile dealt;
  TRY(dealt.rows, taker.size(kRowsLimit));
  TRY(const std::string_view hash, taker.word());
  const char* const end = hash.data() + hash.size();
  const auto read = std::from_chars(hash.data(), end, dealt.hash, 16);
  if (hash.size() != kHashDigits || read.ec != std::errc() || read.ptr != end)
    return fail("a survey holds a hash \"{}\", expected {} hexadecimal digits", hash.substr(0, 40),
                kHashDigits);
  return dealt;
}

Result<ColumnSurvey> take_column(Taker& taker) {
  ColumnSurvey column;
  TRY(const std::string_view name, taker.word());
  column.name = name;
  TRY(const std::size_t kind, taker.size(2));
  column.content = static_cast<Content>(kind);
  TRY(const std::string_view of, taker.word());
  column.of = of;
  TRY(column.form, taker.form());
  if (column.content == Content::numbers) {
    TRY(column.moments, taker.moments());
  } else if (column.content == Content::words) {
    TRY(column.words, taker.ascending(kWordsLimit));
  }
  return column;
}

Result<PenaltyTrial> take_trial(Taker& taker) {
  constexpr double kExcessLimit = 1e100;  // so that no merger of surveys overflows
  PenaltyTrial trial;
  TRY(const std::size_t rows, taker.size(kRowsMergedLimit));
  trial.rows = static_cast<double>(rows);
  for (double& excess : trial.excess) {
    TRY(excess, taker.number());
    if (!(excess >= 0 && excess <= kExcessLimit))
      return fail("a survey holds an excess of {}, expected 0 to {}", excess, kExcessLimit);
  }
  return trial;
}

// One count for each class.
Result<void> take_class_rows(Taker& taker, Survey& survey) {
  for (std::size_t c = 0; c < survey.classes.size(); ++c) {
    TRY(const std::size_t rows, taker.size(kRowsMergedLimit));
    survey.class_rows.push_back(static_cast<double>(rows));
  }
  return {};
}

Result<void> take_part(Taker& taker, Survey& survey) {
  TRY(const std::string_view part, taker.word());
  if (part == kClassRows && survey.class_rows.empty() && !survey.classes.empty())
    return take_class_rows(taker, survey);
  if (part == kLog && !survey.is_log && !survey.classifies) {
    survey.is_log = true;
    return {};
  }
  if (part != kTrial || survey.trial)
    return fail("a survey holds a part \"{}\" after its target", part.substr(0, 40));
  TRY(survey.trial, take_trial(taker));
  return {};
}

}  // namespace

std::string encode(const Survey& survey) {
  Writer writer;
  writer.put(survey.dealt ? kDealtFormat : kFormat);
  if (survey.dealt) {
    writer.put(survey.dealt->rows);
    writer.put(std::string_view(fmt::format("{:016x}", survey.dealt->hash)));
  }
  writer.put(std::size_t{survey.is_fixed});
  writer.put(std::size_t{survey.hash_bits});
  writer.put(std::size_t{survey.decimal_comma});
  writer.put(survey.missing);
  writer.put(survey.missing_cells);
  writer.put(std::size_t{survey.folds_case});
  writer.put(std::string_view(survey.site));
  writer.put(static_cast<std::size_t>(survey.rows));
  writer.put(survey.columns.size());
  for (const ColumnSurvey& column : survey.columns) {
    writer.put(std::string_view(column.name));
    writer.put(static_cast<std::size_t>(column.content));
    writer.put(std::string_view(column.of));
    writer.put(column.form);
    if (column.content == Content::numbers) writer.put(column.moments);
    if (column.content == Content::words) writer.put(column.words);
  }
  writer.put(std::string_view(survey.target));
  writer.put(std::size_t{survey.classifies});
  writer.put(survey.target_form);
  if (survey.classifies)
    writer.put(survey.classes);
  else
    writer.put(survey.amounts);
  if (survey.is_log) writer.put(kLog);
  if (!survey.class_rows.empty()) {
    writer.put(kClassRows);
    for (const double rows : survey.class_rows) writer.put(rows);
  }
  if (survey.trial) {
    writer.put(kTrial);
    writer.put(std::floor(survey.trial->rows));
    for (const double excess : survey.trial->excess) writer.put(excess);
  }
  return writer.finish();
}

Result<Survey> decode_survey(std::string_view text) {
  if (text.size() > kSurveyBytesLimit)
    return fail("a survey has {} bytes, expected at most {}", text.size(), kSurveyBytesLimit);
  Taker taker(text);
  TRY(const std::string_view format, taker.word());
  if (format != kFormat && format != kDealtFormat)
    return fail("a survey does not begin with {}", kFormat);
  Survey survey;
  if (format == kDealtFormat) {
    TRY(survey.dealt, take_dealt(taker));
  }
  TRY(const std::size_t is_fixed, taker.size(1));
  survey.is_fixed = is_fixed == 1;
  TRY(const std::size_t bits, taker.size(kHashBitsLimit));
  survey.hash_bits = static_cast<unsigned>(bits);
  TRY(const std::size_t comma, taker.size(1));
  survey.decimal_comma = comma == 1;
  TRY(survey.missing, taker.ascending(kWordsLimit));
  TRY(survey.missing_cells, taker.ascending(kWordsLimit));
  TRY(const std::size_t folds, taker.size(1));
  survey.folds_case = folds == 1;
  TRY(const std::string_view site, taker.word());
  survey.site = site;
  TRY(const std::size_t rows, taker.size(kRowsMergedLimit));
  survey.rows = static_cast<double>(rows);
  TRY(const std::size_t columns, taker.size(kTableColumnsLimit));
  for (std::size_t c = 0; c < columns; ++c) {
    TRY(ColumnSurvey column, take_column(taker));
    if (column.moments.count > survey.rows)
      return fail("a survey of {} rows counts {} in column {}", survey.rows, column.moments.count,
                  column.name);
    survey.columns.push_back(std::move(column));
  }
  TRY(const std::string_view target, taker.word());
  survey.target = target;
  TRY(const std::size_t classifies, taker.size(1));
  survey.classifies = classifies == 1;
  TRY(survey.target_form, taker.form());
  if (survey.classifies) {
    TRY(survey.classes, taker.ascending(kClassesLimit));
  } else {
    TRY(survey.amounts, taker.moments());
  }
  if (survey.amounts.count > survey.rows)
    return fail("a survey of {} rows counts {} targets", survey.rows, survey.amounts.count);
  while (!taker.at_end()) TRY_DO(take_part(taker, survey));
  return survey;
}

}  // namespace starling::models
