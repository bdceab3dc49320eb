// libsvm: one sample a line, `LABEL INDEX:VALUE INDEX:VALUE ...`, indices from 1, ascending; other
// values are 0. Stays sparse in memory, and unscaled.
#include "models/data/load.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/content_hash.h"
#include "base/prng.h"
#include "base/text.h"
#include "models/data/gz_file.h"

namespace starling::models {
namespace {

constexpr std::size_t kLibsvmClassesLimit = 1000;
constexpr std::size_t kEntriesLimit = 4'000'000'000;  // of one data set; offsets are 32 bits

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

// Adds it to the row that begins at row_start.back().
Result<void> add_entry(std::string_view word, SparseFeatures& features) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const auto index = parse<std::uint32_t>(word.substr(0, colon));
  if (!index || *index < 1 || *index > kColumnsLimit || colon == word.size())
    return fail("\"{}\", expected INDEX:VALUE with INDEX from 1 to {}", word, kColumnsLimit);
  const auto value = parse<float>(word.substr(colon + 1));
  if (!value || !std::isfinite(*value)) return fail("\"{}\", expected a finite number", word);
  const bool is_first = features.column.size() == features.row_start.back();
  if (!is_first && *index - 1 <= features.column.back())
    return fail("index {} after {}, expected ascending indices", *index,
                features.column.back() + 1);
  features.column.push_back(*index - 1);
  features.value.push_back(*value);
  return {};
}

// Whole numbers only; "1.0" and "+1" are whole.
Result<std::int32_t> parse_label(std::string_view word) {
  const auto label = parse<double>(word);
  if (!label || *label != std::floor(*label) || *label < -1 || *label >= kLibsvmClassesLimit)
    return fail("label \"{}\", expected -1 or +1, or 0 to {}", word, kLibsvmClassesLimit - 1);
  return static_cast<std::int32_t>(*label);
}

Result<void> add_sample(std::string_view line, Dataset& set) {
  auto& features = std::get<SparseFeatures>(set.features);
  TRY(const std::int32_t label, parse_label(take_word(line)));
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line))
    TRY_DO(add_entry(word, features));
  if (set.rows == kRowsLimit) return fail("expected at most {} samples", kRowsLimit);
  if (features.column.size() > kEntriesLimit)
    return fail("expected at most {} entries", kEntriesLimit);
  if (features.column.size() > features.row_start.back())
    set.columns = std::max<std::size_t>(set.columns, features.column.back() + 1);
  features.row_start.push_back(static_cast<std::uint32_t>(features.column.size()));
  set.labels.push_back(label);
  ++set.rows;
  return {};
}

// Adds the sample of every line that is not empty to the set that `choose` gives for it.
Result<void> read_lines(const std::string& path, auto choose) {
  TRY(const std::string text, read_text(path));
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (const Result<void> added = add_sample(line, choose()); !added)
      return fail("{}: line {}: {}", path, number, added.error().text);
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

std::uint64_t hash_of(const Dataset& set) {
  const auto& features = std::get<SparseFeatures>(set.features);
  std::uint64_t hash = 0;
  const auto add = [&](const auto& values) {
    hash = mix64(hash ^ content_hash(std::as_bytes(std::span(values))));
  };
  add(features.row_start);
  add(features.column);
  add(features.value);
  add(set.labels);
  return hash;
}

}  // namespace

Result<Data> read_libsvm(const DataOptions& options) {
  Data data;
  data.train.features = data.test.features =
      SparseFeatures{.row_start = {0}, .column = {}, .value = {}};
  std::uint64_t row = 0;
  TRY_DO(read_lines(options.path, [&]() -> Dataset& {
    return is_held_out(options, row++) ? data.test : data.train;
  }));
  if (!options.test_path.empty())
    TRY_DO(read_lines(options.test_path, [&]() -> Dataset& { return data.test; }));
  TRY_DO(settle(options.path, data.train, data.test));
  data.train_hash = hash_of(data.train);
  data.description =
      fmt::format("libsvm: {} sparse samples of {} features, {} held out, {} classes",
                  with_commas(data.train.rows), data.train.columns, with_commas(data.test.rows),
                  data.train.classes);
  return data;
}

}  // namespace starling::models
