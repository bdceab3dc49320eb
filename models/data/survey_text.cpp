// The text form of a survey.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "models/data/survey.h"
#include "models/data/survey_words.h"

namespace starling::models {
namespace {

// The second one says which file is dealt out, in two words more.
constexpr std::string_view kFormat = "starling-survey-5", kDealtFormat = "starling-survey-6";

// What follows the target is named, and may be absent. A node of an earlier version refuses it.
constexpr std::string_view kTrial = "l2-trial", kClassRows = "class-rows", kLog = "log-target";

constexpr std::size_t kHashDigits = 16;

Result<DealtFile> take_dealt(SurveyTaker& taker) {
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

Result<ColumnSurvey> take_column(SurveyTaker& taker) {
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

Result<PenaltyTrial> take_trial(SurveyTaker& taker) {
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
Result<void> take_class_rows(SurveyTaker& taker, Survey& survey) {
  for (std::size_t c = 0; c < survey.classes.size(); ++c) {
    TRY(const std::size_t rows, taker.size(kRowsMergedLimit));
    survey.class_rows.push_back(static_cast<double>(rows));
  }
  return {};
}

Result<void> take_part(SurveyTaker& taker, Survey& survey) {
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
  SurveyWriter writer;
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
  SurveyTaker taker(text);
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
