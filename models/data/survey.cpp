#include "models/data/survey.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text.h"
#include "models/data/columns/truth.h"
#include "models/data/csv.h"
#include "models/data/plausible.h"

namespace starling::models {
namespace {

void merge_words(std::vector<std::string>& words, const std::vector<std::string>& others) {
  std::vector<std::string> both;
  std::ranges::set_union(words, others, std::back_inserter(both));
  words = std::move(both);
}

// "numbers (mean 3.5)" or "words (such as \"red\")"
std::string describe(const ColumnSurvey& column) {
  const ColumnKind* const kind = column.form.kind;
  if (column.content == Content::numbers)
    return fmt::format("{} (mean {})", kind ? fmt::format("{}s", kind->name()) : "numbers",
                       kind && column.moments.count > 0
                           ? kind->show(column.moments.mean)
                           : fmt::format("{:.4g}", column.moments.mean));
  const auto word = std::ranges::find_if(column.words, [](const auto& w) { return !w.empty(); });
  return word == column.words.end()
             ? std::string(column.content == Content::words ? "words" : "nothing")
             : fmt::format("words (such as \"{}\")", word->substr(0, 40));
}

// "at node-1", or what to say of a node that is not known.
std::string at(const Survey& survey, std::string_view otherwise) {
  return survey.site.empty() ? std::string(otherwise) : "at " + survey.site;
}

bool is_truth(const std::string& word) {
  return word.empty() || truth_of(word).has_value();
}

// Numbers 1 and 0 as words for true and false.
void take_for_words(ColumnSurvey& column) {
  if (column.content != Content::numbers) return;
  column.content = Content::words;
  column.words = {"0", "1"};
  column.moments = {};
}

bool have_one_kind(const ColumnSurvey& a, const ColumnSurvey& b) {
  const bool are_known = a.form.kind && b.form.kind && a.content == Content::numbers;
  return a.content == b.content && (!are_known || a.form.kind == b.form.kind);
}

Result<void> merge_column(ColumnSurvey& sum, ColumnSurvey other, const Survey& first,
                          const Survey& second) {
  if (other.content == Content::empty) return {};
  if (sum.content == Content::empty) {
    sum = std::move(other);
    return {};
  }
  if (sum.content != other.content && sum.is_boolean() && other.is_boolean()) {
    take_for_words(sum);
    take_for_words(other);
  }
  if (!have_one_kind(sum, other))
    return fail(
        "column {} holds {} {} and {} {}; make them alike, or leave it out with data.ignore = {} "
        "everywhere",
        sum.name, describe(sum), at(first, "at one node"), describe(other),
        at(second, "at another"), sum.name);
  if (!sum.form.unit.empty() && !other.form.unit.empty() && sum.form.unit != other.form.unit)
    return fail("column {} is in {} {} and in {} {}; write both in one unit", sum.name,
                sum.form.unit, at(first, "at one node"), other.form.unit, at(second, "at another"));
  sum.moments.merge(other.moments);
  merge_words(sum.words, other.words);
  if (sum.words.size() > kWordsLimit)
    return fail("column {} has {} different words at all nodes together, expected at most {}",
                sum.name, with_commas(sum.words.size()), with_commas(kWordsLimit));
  return {};
}

// The pair in which the first of these lists has no and yes.
std::pair<std::string, std::string> spelling(
    const std::vector<const std::vector<std::string>*>& all) {
  for (const std::vector<std::string>* const words : all) {
    std::vector<std::string> told;
    std::ranges::copy_if(*words, std::back_inserter(told),
                         [](const auto& w) { return !w.empty(); });
    if (told.size() == 2 && truth_of(told[0]).value_or(false) != truth_of(told[1]).value_or(false))
      return truth_of(told[0]).value_or(false) ? std::pair(told[1], told[0])
                                               : std::pair(told[0], told[1]);
  }
  return {"no", "yes"};
}

// Several spellings of true and false become one of each.
void fold_truths(std::vector<std::string>& words,
                 const std::vector<const std::vector<std::string>*>& of_founders) {
  std::size_t yes = 0, no = 0;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    const auto truth = truth_of(word);
    if (!truth) return;
    ++(*truth ? yes : no);
  }
  if (yes <= 1 && no <= 1) return;
  const auto [spelled_no, spelled_yes] = spelling(of_founders);
  std::vector<std::string> folded{spelled_no, spelled_yes};
  if (words.front().empty()) folded.emplace_back();
  std::ranges::sort(folded);
  words = std::move(folded);
}

void fold_truths(Survey& sum, std::span<const Survey> surveys) {
  std::vector<const std::vector<std::string>*> classes;
  for (const Survey& survey : surveys) classes.push_back(&survey.classes);
  const std::vector<std::string> told = sum.classes;
  fold_truths(sum.classes, classes);
  if (sum.classes != told && !sum.class_rows.empty()) {
    std::vector<double> rows(sum.classes.size());
    for (std::size_t c = 0; c < told.size(); ++c)
      rows[find_word(sum.classes, told[c]).value()] += sum.class_rows[c];
    sum.class_rows = std::move(rows);
  }
  for (ColumnSurvey& column : sum.columns) {
    std::vector<const std::vector<std::string>*> words;
    for (const Survey& survey : surveys)
      if (const ColumnSurvey* const found = survey.find(column.name))
        words.push_back(&found->words);
    if (column.content == Content::words) fold_truths(column.words, words);
  }
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
    return fail("{} is predicted {}, and {} {}; expected one data.target", sum.target,
                at(sum, "at one node"), other.target, at(other, "at another"));
  if (sum.classifies != other.classifies)
    return fail(
        "target {} holds {} {} and {} {}; set data.task = classification or regression at all of "
        "them",
        sum.target, sum.classifies ? "classes" : "amounts", at(sum, "at one node"),
        other.classifies ? "classes" : "amounts", at(other, "at another"));
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

// A part that only some columns have, such as that of limits, may be absent.
Result<void> merge_columns(Survey& sum, const Survey& other) {
  const auto absent = [](const ColumnSurvey& column, const Survey& has, const Survey& lacks) {
    return fail(
        "column {} is in the table {} and not in that {}; add it, or leave it out with "
        "data.ignore = {} where it is",
        column.name, at(has, "of one node"), at(lacks, "of another"), column.name);
  };
  for (ColumnSurvey& column : sum.columns) {
    const ColumnSurvey* const found = other.find(column.name);
    if (!found && column.of.empty()) return absent(column, sum, other);
    if (found) TRY_DO(merge_column(column, *found, sum, other));
  }
  for (const ColumnSurvey& column : other.columns) {
    if (sum.find(column.name)) continue;
    if (column.of.empty()) return absent(column, other, sum);
    const auto is_before = [&](const ColumnSurvey& one) {
      return one.name == column.of || one.of == column.of;
    };
    const auto last = std::ranges::find_if(sum.columns.rbegin(), sum.columns.rend(), is_before);
    sum.columns.insert(last.base(), column);
  }
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
  TRY_DO(merge_columns(sum, other));
  TRY_DO(merge_target(sum, other));
  sum.rows += other.rows;
  if (other.trial) merge_trial(sum.trial, *other.trial);
  sum.decimal_comma = sum.decimal_comma || other.decimal_comma;
  merge_words(sum.missing, other.missing);
  merge_words(sum.missing_cells, other.missing_cells);
  return {};
}

// Founders of several classes each that share none write them differently.
Result<void> check_shared_class(const Survey& sum, std::span<const Survey> surveys) {
  std::size_t told = 0;
  for (const Survey& survey : surveys) {
    if (survey.classes.size() < 2 || survey.dealt) return {};
    told += survey.classes.size();
  }
  if (surveys.size() < 2 || sum.classes.size() < told) return {};
  return fail("target {} is {} {} and {} {}: no class is at two nodes; write them alike",
              sum.target, fmt::join(surveys[0].classes, ", "), at(surveys[0], "at one node"),
              fmt::join(surveys[1].classes, ", "), at(surveys[1], "at another"));
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
  if (!set.has_truth()) return;
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

bool ColumnSurvey::is_boolean() const {
  if (content == Content::words) return !words.empty() && std::ranges::all_of(words, is_truth);
  // Numbers x of which the sum of x (x - 1) is 0.
  constexpr double kRounding = 1e-9;
  const double binary = moments.count * moments.mean * (1 - moments.mean);
  return content == Content::numbers && moments.count > 0 &&
         std::abs(moments.squares - binary) <= kRounding * moments.count;
}

const ColumnSurvey* Survey::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnSurvey::name);
  return found == columns.end() ? nullptr : &*found;
}

std::optional<std::size_t> find_word(const std::vector<std::string>& words,
                                     const std::string& word) {
  const auto exact = std::ranges::lower_bound(words, word);
  if (exact != words.end() && *exact == word)
    return static_cast<std::size_t>(exact - words.begin());
  const auto truth = truth_of(word);
  if (!truth || !std::ranges::all_of(words, is_truth)) return std::nullopt;
  const auto same = std::ranges::find(words, truth, [](const auto& one) { return truth_of(one); });
  if (same == words.end()) return std::nullopt;
  return static_cast<std::size_t>(same - words.begin());
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
  survey.missing_cells = table.missing_cells;
  std::ranges::sort(survey.missing_cells);
  survey.folds_case = table.folds_case;
  survey.target_form = table.target_form;
  for (const TableFeatures::Column& own : table.columns) {
    ColumnSurvey& column = survey.columns.emplace_back();
    column.name = own.name;
    column.content = own.content;
    column.of = own.of;
    column.form = own.form;
    if (own.content == Content::words && hash_bits == 0)
      column.words = chosen(table.words[own.slot], seen.words[own.slot], suppress_below);
    else if (own.content == Content::numbers)
      column.moments = told(seen.numbers[own.slot], suppress_below);
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
  fold_truths(sum, surveys);
  TRY_DO(check_shared_class(sum, surveys));
  sum.site.clear();
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
