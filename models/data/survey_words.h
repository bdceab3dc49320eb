// SurveyWriter and SurveyTaker: the words of which surveys are made, as netstrings LENGTH:BYTES one
// after the other, with numbers in decimal that read back exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/utf8.h"
#include "models/data/columns/column_kind.h"
#include "models/data/csv.h"
#include "models/data/moments.h"

namespace starling::models {

class SurveyWriter {
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
  // Numbers of 8 bytes, the first one first.
  void put_raw(const std::vector<std::uint64_t>& numbers) {
    put(numbers.size());
    for (const std::uint64_t number : numbers)
      for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(number >> shift);
  }
  std::string finish() { return std::move(text_); }

 private:
  std::string text_;
};

// Every size is checked against a limit and against what is left of the text.
class SurveyTaker {
 public:
  explicit SurveyTaker(std::string_view text) : rest_(text) {}

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

  // As put_raw() wrote them.
  Result<std::vector<std::uint64_t>> raw(std::size_t limit) {
    TRY(const std::size_t count, size(limit));
    if (rest_.size() < count * sizeof(std::uint64_t)) return fail("a survey breaks off");
    std::vector<std::uint64_t> numbers(count);
    for (std::uint64_t& number : numbers) {
      for (std::size_t k = 0; k < sizeof number; ++k)
        number = number << 8 | static_cast<unsigned char>(rest_[k]);
      rest_.remove_prefix(sizeof number);
    }
    return numbers;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace starling::models
