#include "models/data/survey.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/plausible.h"

namespace starling::models {
namespace {

void merge_words(std::vector<std::string>& words, const std::vector<std::string>& others) {
  std::vector<std::string> both;
  std::ranges::set_union(words, others, std::back_inserter(both));
  words = std::move(both);
}

// "numbers (mean 3.5)" or "words (red, …)"
std::string describe(const ColumnSurvey& column) {
  if (column.kind == ColumnKind::numbers)
    return fmt::format("numbers (mean {:.4g})", column.moments.mean);
  const auto word = std::ranges::find_if(column.words, [](const auto& w) { return !w.empty(); });
  return word == column.words.end()
             ? std::string(name_of({"nothing", "numbers", "words"}, column.kind))
             : fmt::format("words (such as \"{}\")", word->substr(0, 40));
}

Result<void> merge_column(ColumnSurvey& sum, const ColumnSurvey& other) {
  if (sum.kind == ColumnKind::empty) sum.kind = other.kind;
  if (other.kind != ColumnKind::empty && other.kind != sum.kind)
    return fail(
        "column {} holds {} at one node and {} at another; make them alike, or leave it "
        "out with data.ignore = {} everywhere",
        sum.name, describe(sum), describe(other), sum.name);
  sum.moments.merge(other.moments);
  merge_words(sum.words, other.words);
  if (sum.words.size() > kWordsLimit)
    return fail("column {} has {} different words at all nodes together, expected at most {}",
                sum.name, with_commas(sum.words.size()), with_commas(kWordsLimit));
  return {};
}

// Of a founder without counts, of an earlier version, nobody knows how many all have.
void merge_classes(Survey& sum, const Survey& other) {
  std::map<std::string, double> rows;
  const bool is_known = sum.class_rows.size() == sum.classes.size() &&
                        other.class_rows.size() == other.classes.size();
  for (const Survey* one : {static_cast<const Survey*>(&sum), &other})
    for (std::size_t c = 0; is_known && c < one->classes.size(); ++c)
      rows[one->classes[c]] += one->class_rows[c];
  merge_words(sum.classes, other.classes);
  sum.class_rows.clear();
  for (const auto& [name, count] : rows) sum.class_rows.push_back(count);
}

Result<void> merge_target(Survey& sum, const Survey& other) {
  if (sum.target != other.target)
    return fail("one node predicts {}, another {}; expected one data.target", sum.target,
                other.target);
  if (sum.classifies != other.classifies)
    return fail(
        "target {} holds classes at one node and amounts at another; set data.task = "
        "classification or regression at all of them",
        sum.target);
  if (sum.is_log != other.is_log)
    return fail(
        "target {} is scaled by its logarithm at one node only; set data.target-scale "
        "alike at all of them",
        sum.target);
  sum.amounts.merge(other.amounts);
  merge_classes(sum, other);
  if (sum.classes.size() > kClassesLimit)
    return fail("target {} has {} classes at all nodes together, expected at most {}", sum.target,
                sum.classes.size(), kClassesLimit);
  return {};
}

void merge_trial(std::optional<PenaltyTrial>& sum, const PenaltyTrial& other) {
  if (!sum) sum.emplace();
  sum->merge(other);
}

Result<void> merge_into(Survey& sum, const Survey& other) {
  if (sum.hash_bits != other.hash_bits)
    return fail("one node has data.words = {}, another {}; expected one for all",
                sum.hash_bits == 0 ? "share" : fmt::format("hash:{}", sum.hash_bits),
                other.hash_bits == 0 ? "share" : fmt::format("hash:{}", other.hash_bits));
  const auto absent = [](const ColumnSurvey& column) {
    return fail(
        "column {} is in the table of one node and not in that of another; add it, or "
        "leave it out with data.ignore = {} everywhere",
        column.name, column.name);
  };
  for (const ColumnSurvey& column : other.columns)
    if (!sum.find(column.name)) return absent(column);
  for (ColumnSurvey& column : sum.columns) {
    const ColumnSurvey* const found = other.find(column.name);
    if (!found) return absent(column);
    TRY_DO(merge_column(column, *found));
  }
  TRY_DO(merge_target(sum, other));
  sum.rows += other.rows;
  if (other.trial) merge_trial(sum.trial, *other.trial);
  sum.decimal_comma = sum.decimal_comma || other.decimal_comma;
  merge_words(sum.missing, other.missing);
  return {};
}

// Surveys without a dealt file are of nodes of an earlier version.
Result<void> check_dealt(std::span<const Survey> surveys) {
  const Survey* first = nullptr;
  for (const Survey& survey : surveys) {
    if (!survey.dealt) continue;
    if (!first) first = &survey;
    if (*survey.dealt != *first->dealt)
      return fail("{}", difference({*first->dealt, "at one node"}, {*survey.dealt, "at another"}));
  }
  return {};
}

// The statistics of the rows, by the slots of the table.
struct Seen {
  std::vector<Moments> numbers;
  std::vector<std::vector<std::size_t>> words;  // how many rows have each
};

Seen look_at(const TableFeatures& table, std::span<const std::uint32_t> rows) {
  Seen seen{.numbers = std::vector<Moments>(table.number_columns), .words = {}};
  for (const auto& words : table.words) seen.words.emplace_back(words.size());
  for (const std::uint32_t row : rows) {
    const double* const numbers = table.numbers.data() + row * table.number_columns;
    for (std::size_t slot = 0; slot < table.number_columns; ++slot)
      if (!std::isnan(numbers[slot])) seen.numbers[slot].add(numbers[slot]);
    for (std::size_t slot = 0; slot < table.words.size(); ++slot)
      ++seen.words[slot][table.codes[row * table.words.size() + slot]];
  }
  return seen;
}

// Those that some rows have, at least `least` of them.
std::vector<std::string> chosen(const std::vector<std::string>& words,
                                const std::vector<std::size_t>& rows, std::size_t least) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (rows[i] > 0 && rows[i] >= least) result.push_back(words[i]);
  return result;
}

Moments told(const Moments& moments, std::size_t least) {
  return moments.count < static_cast<double>(least) ? Moments() : moments;
}

// The classes or the amounts of the target.
void survey_target(const Dataset& set, std::span<const std::uint32_t> rows, std::size_t least,
                   Survey& survey) {
  std::vector<std::size_t> classes(set.classes);
  for (const std::uint32_t row : rows)
    if (survey.classifies)
      ++classes[static_cast<std::size_t>(set.labels[row])];
    else
      survey.amounts.add(survey.is_log ? std::log(set.targets[row]) : set.targets[row]);
  survey.classes = chosen(set.class_names, classes, least);
  for (const std::size_t count : classes)
    if (count > 0 && count >= least) survey.class_rows.push_back(static_cast<double>(count));
}

// A founder's rows count as its moments do; see kRowsMost.
void lessen_rows(std::span<Survey> surveys) {
  std::vector<double> rows;
  for (const Survey& survey : surveys)
    if (survey.rows > 0) rows.push_back(survey.rows);
  if (rows.size() < 3) return;
  const double most = kRowsMost * median(std::move(rows));
  for (Survey& survey : surveys) {
    double counted = survey.amounts.count;
    for (const ColumnSurvey& column : survey.columns)
      counted = std::max(counted, column.moments.count);
    survey.rows = std::max(counted, std::min(survey.rows, most));
    for (double& count : survey.class_rows) count = std::min(count, survey.rows);
  }
}

// Without the moments of a founder that lie far from those of the others.
std::vector<Survey> plausible(std::span<const Survey> of_founders) {
  std::vector<Survey> surveys(of_founders.begin(), of_founders.end());
  std::map<std::string, std::vector<Moments*>> columns;
  std::vector<Moments*> amounts;
  std::vector<PenaltyTrial*> trials;
  for (Survey& survey : surveys) {
    amounts.push_back(&survey.amounts);
    if (survey.trial) trials.push_back(&*survey.trial);
    for (ColumnSurvey& column : survey.columns) columns[column.name].push_back(&column.moments);
  }
  leave_out_implausible(amounts);
  lessen_implausible(trials);
  lessen_rows(surveys);
  for (const auto& [name, of_column] : columns) leave_out_implausible(of_column);
  return surveys;
}

// Whether all of its numbers were plausible.
bool lost_nothing(const Survey& plausible, const Survey& told) {
  const auto is_kept = [](const ColumnSurvey& now, const ColumnSurvey& before) {
    return now.moments.count > 0 || before.moments.count == 0;
  };
  return (plausible.amounts.count > 0 || told.amounts.count == 0) &&
         std::ranges::equal(plausible.columns, told.columns, is_kept);
}

}  // namespace

const ColumnSurvey* Survey::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnSurvey::name);
  return found == columns.end() ? nullptr : &*found;
}

Survey make_survey(const Dataset& set, std::span<const std::uint32_t> rows, unsigned hash_bits,
                   std::size_t suppress_below, bool is_log) {
  if (rows.size() < suppress_below) rows = {};
  const auto& table = std::get<TableFeatures>(set.features);
  const Seen seen = look_at(table, rows);
  Survey survey;
  survey.target = table.target;
  survey.classifies = set.classes > 0;
  survey.is_log = is_log && !survey.classifies;
  survey.rows = static_cast<double>(rows.size());
  survey.hash_bits = hash_bits;
  survey.decimal_comma = table.decimal_comma;
  if (hash_bits == 0 && suppress_below == 0) survey.missing = table.missing;
  for (const auto& [name, kind, slot] : table.columns) {
    ColumnSurvey& column = survey.columns.emplace_back();
    column.name = name;
    column.kind = kind;
    if (kind == ColumnKind::words && hash_bits == 0)
      column.words = chosen(table.words[slot], seen.words[slot], suppress_below);
    else if (kind == ColumnKind::numbers)
      column.moments = told(seen.numbers[slot], suppress_below);
  }
  survey_target(set, rows, suppress_below, survey);
  return survey;
}

Result<Survey> merge(std::span<const Survey> of_founders) {
  TRY_DO(check_dealt(of_founders));
  if (of_founders.empty()) return fail("there is no survey to found the features on");
  const std::vector<Survey> surveys = plausible(of_founders);
  for (std::size_t k = 0; k < surveys.size(); ++k)
    if (surveys[k].is_fixed && lost_nothing(surveys[k], of_founders[k])) return of_founders[k];
  Survey sum = surveys.front();
  for (const Survey& other : std::span(surveys).subspan(1)) TRY_DO(merge_into(sum, other));
  sum.is_fixed = true;
  if (sum.rows == 0) return fail("no survey has a sample to found the features on");
  TRY_DO(check_size(sum));
  return sum;
}

Result<void> check_size(const Survey& survey) {
  const std::size_t bytes = encode(survey).size();
  if (bytes <= kSurveyBytesLimit) return {};
  const auto size = [](const ColumnSurvey& column) {
    std::size_t sum = 0;
    for (const std::string& word : column.words) sum += word.size();
    return sum;
  };
  const auto largest = std::ranges::max_element(survey.columns, {}, size);
  return fail(
      "what the nodes must tell each other of this table has {} bytes, expected at most {}; most "
      "of it are the {} words of column {}: leave it out with data.ignore = {}, or set data.words "
      "= "
      "hash:8",
      with_commas(bytes), with_commas(kSurveyBytesLimit), with_commas(largest->words.size()),
      largest->name, largest->name);
}

}  // namespace starling::models
