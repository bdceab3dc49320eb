#include "models/survey.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/settings.h"
#include "models/csv.h"

namespace starling::models {
namespace {

constexpr std::string_view kFormat = "starling-survey-1";

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
  void put(const Moments& moments) {
    for (const double number : {moments.count, moments.mean, moments.squares})
      put(std::string_view(fmt::to_string(number)));
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

  Result<Moments> moments() {
    constexpr double kMeanLimit = 1e100;  // so that no merger of surveys overflows
    constexpr double kSquaresLimit = 1e200;
    Moments result;
    TRY(const std::size_t count, size(kRowsLimit));
    result.count = static_cast<double>(count);
    TRY(result.mean, number());
    TRY(result.squares, number());
    if (std::abs(result.mean) > kMeanLimit ||
        !(result.squares >= 0 && result.squares <= kSquaresLimit))
      return fail("a survey holds a mean of {} and squares of {}, expected at most {} and 0 to {}",
                  result.mean, result.squares, kMeanLimit, kSquaresLimit);
    return result;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::vector<std::string> merged(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<std::string> result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

}  // namespace

void Moments::add(double value) {
  count += 1;
  const double before = value - mean;
  mean += before / count;
  squares += before * (value - mean);
}

// n = n_a + n_b, d = mean_b - mean_a:
//   mean = mean_a + d n_b / n,  squares = squares_a + squares_b + d^2 n_a n_b / n
void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  const double total = count + other.count;
  const double difference = other.mean - mean;
  mean += difference * (other.count / total);
  squares += other.squares + difference * difference * (count * (other.count / total));
  count = total;
}

double Moments::deviation() const {
  return count > 0 ? std::sqrt(squares / count) : 0;
}

void Survey::merge(const Survey& other) {
  for (std::size_t c = 0; c < numbers.size(); ++c) numbers[c].merge(other.numbers[c]);
  for (std::size_t c = 0; c < words.size(); ++c) words[c] = merged(words[c], other.words[c]);
  target.merge(other.target);
}

bool Survey::same_columns(const Survey& other) const {
  return number_names == other.number_names && word_names == other.word_names;
}

Survey make_survey(const Dataset& set, std::span<const std::uint32_t> rows) {
  const auto& table = std::get<TableFeatures>(set.features);
  const std::size_t numbers = table.number_names.size();
  const std::size_t words = table.word_names.size();
  Survey survey{.number_names = table.number_names,
                .word_names = table.word_names,
                .numbers = std::vector<Moments>(numbers),
                .words = std::vector<std::vector<std::string>>(words),
                .target = {}};
  std::vector<std::vector<bool>> seen;
  for (const auto& column : table.words) seen.emplace_back(column.size());
  for (const std::uint32_t row : rows) {
    for (std::size_t c = 0; c < numbers; ++c)
      survey.numbers[c].add(table.numbers[row * numbers + c]);
    for (std::size_t c = 0; c < words; ++c) seen[c][table.codes[row * words + c]] = true;
    survey.target.add(set.targets[row]);
  }
  for (std::size_t c = 0; c < words; ++c)
    for (std::size_t code = 0; code < seen[c].size(); ++code)
      if (seen[c][code]) survey.words[c].push_back(table.words[c][code]);
  return survey;
}

std::string encode(const Survey& survey) {
  Writer writer;
  writer.put(kFormat);
  writer.put(survey.number_names);
  writer.put(survey.word_names);
  for (const Moments& moments : survey.numbers) writer.put(moments);
  for (const auto& words : survey.words) writer.put(words);
  writer.put(survey.target);
  return writer.finish();
}

Result<Survey> decode_survey(std::string_view text) {
  if (text.size() > kSurveyBytesLimit)
    return fail("a survey has {} bytes, expected at most {}", text.size(), kSurveyBytesLimit);
  Taker taker(text);
  TRY(const std::string_view format, taker.word());
  if (format != kFormat) return fail("a survey does not begin with {}", kFormat);
  Survey survey;
  TRY(survey.number_names, taker.words(kTableColumnsLimit));
  TRY(survey.word_names, taker.words(kTableColumnsLimit));
  for (std::size_t c = 0; c < survey.number_names.size(); ++c) {
    TRY(const Moments moments, taker.moments());
    survey.numbers.push_back(moments);
  }
  for (std::size_t c = 0; c < survey.word_names.size(); ++c) {
    TRY(auto words, taker.words(kWordsLimit));
    if (!std::ranges::is_sorted(words, std::ranges::less_equal()))
      return fail("a survey repeats or misorders the words of {}", survey.word_names[c]);
    survey.words.push_back(std::move(words));
  }
  TRY(survey.target, taker.moments());
  const auto differs = [&](const Moments& moments) { return moments.count != survey.target.count; };
  if (std::ranges::any_of(survey.numbers, differs))
    return fail("a survey counts its columns differently, expected {} each", survey.target.count);
  if (!taker.at_end()) return fail("a survey holds bytes after its end");
  return survey;
}

}  // namespace starling::models
