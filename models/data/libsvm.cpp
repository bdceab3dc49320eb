#include "models/data/libsvm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "models/data/gz_file.h"
#include "models/data/holdout.h"
#include "models/data/text.h"

namespace starling::models {
namespace {

struct Sample {
  std::int32_t label = 0;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
};

// Takes the text before the next blank off `line`.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  return parse_exactly<T>(text.substr(text.starts_with('+') ? 1 : 0));
}

Result<void> parse_entry(std::string_view word, Sample& sample) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const auto index = parse<std::uint32_t>(word.substr(0, colon));
  if (!index || *index < 1 || *index > kColumnsLimit || colon == word.size())
    return fail("\"{}\", expected INDEX:VALUE with INDEX from 1 to {}", word, kColumnsLimit);
  const auto value = parse<float>(word.substr(colon + 1));
  if (!value || !std::isfinite(*value)) return fail("\"{}\", expected a finite number", word);
  if (!sample.columns.empty() && *index - 1 <= sample.columns.back())
    return fail("index {} after {}, expected ascending indices", *index, sample.columns.back() + 1);
  sample.columns.push_back(*index - 1);
  sample.values.push_back(*value);
  return {};
}

// Whole numbers only; "1.0" and "+1" are whole.
Result<std::int32_t> parse_label(std::string_view word) {
  const auto label = parse<double>(word);
  if (!label || *label != std::floor(*label) || *label < -1 || *label >= kLibsvmClassesLimit)
    return fail("label \"{}\", expected -1 or +1, or 0 to {}", word, kLibsvmClassesLimit - 1);
  return static_cast<std::int32_t>(*label);
}

Result<void> parse_sample(std::string_view line, Sample& sample) {
  sample.columns.clear();
  sample.values.clear();
  TRY(sample.label, parse_label(take_word(line)));
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line))
    TRY_DO(parse_entry(word, sample));
  return {};
}

class Builder {
 public:
  Builder() { features_.row_start.push_back(0); }

  Result<void> add(const Sample& sample) {
    if (set_.rows == kRowsLimit) return fail("expected at most {} samples", kRowsLimit);
    features_.column.insert(features_.column.end(), sample.columns.begin(), sample.columns.end());
    features_.value.insert(features_.value.end(), sample.values.begin(), sample.values.end());
    if (features_.column.size() > kEntriesLimit)
      return fail("expected at most {} entries", kEntriesLimit);
    features_.row_start.push_back(static_cast<std::uint32_t>(features_.column.size()));
    set_.labels.push_back(sample.label);
    if (!sample.columns.empty())
      set_.columns = std::max<std::size_t>(set_.columns, sample.columns.back() + 1);
    ++set_.rows;
    return {};
  }

  Dataset finish() {
    set_.features = std::move(features_);
    return std::move(set_);
  }

 private:
  Dataset set_;
  SparseFeatures features_;
};

// Passes every non-empty line of the file to `take`, and adds file and line to its errors.
Result<void> read_lines(const std::string& path, auto take) {
  TRY(const std::string text, read_text(path));
  std::string_view rest = text;
  Sample sample;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    Result<void> outcome = parse_sample(line, sample);
    if (outcome) outcome = take(sample);
    if (!outcome) return fail("{}: line {}: {}", path, number, outcome.error().text);
  }
  return {};
}

// Both sets share one meaning of labels and one number of columns.
Result<void> settle(const std::string& path, Dataset& train, Dataset& test) {
  const bool is_signed = std::ranges::find(train.labels, -1) != train.labels.end() ||
                         std::ranges::find(test.labels, -1) != test.labels.end();
  std::int32_t largest = 1;
  for (Dataset* set : {&train, &test})
    for (std::int32_t& label : set->labels) {
      if (is_signed && label != -1 && label != 1)
        return fail("{}: label {} beside -1, expected only -1 and +1", path, label);
      if (is_signed) label = (label + 1) / 2;
      largest = std::max(largest, label);
    }
  for (Dataset* set : {&train, &test}) set->classes = static_cast<std::size_t>(largest) + 1;
  train.columns = test.columns = std::max(train.columns, test.columns);
  if (train.rows == 0) return fail("{}: no samples to train on", path);
  if (train.columns == 0) return fail("{}: no sample has an entry", path);
  return {};
}

}  // namespace

Result<Data> read_libsvm(const DataOptions& options) {
  Builder train;
  Builder test;
  std::uint64_t row = 0;
  const double fraction = options.test_path.empty() ? options.holdout : 0;
  TRY_DO(read_lines(options.path, [&](const Sample& sample) {
    return held_out(row++, fraction, options.seed) ? test.add(sample) : train.add(sample);
  }));
  if (!options.test_path.empty())
    TRY_DO(read_lines(options.test_path, [&](const Sample& sample) { return test.add(sample); }));
  Data data;
  data.train = train.finish();
  data.test = test.finish();
  TRY_DO(settle(options.path, data.train, data.test));
  data.description =
      fmt::format("libsvm: {} sparse samples of {} features, {} held out, {} classes",
                  with_commas(data.train.rows), data.train.columns, with_commas(data.test.rows),
                  data.train.classes);
  return data;
}

}  // namespace starling::models
