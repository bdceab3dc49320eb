#include "models/data/csv_reader.h"

#include <algorithm>

#include "base/text.h"
#include "models/data/gz_file.h"

namespace starling::models {

CsvReader::CsvReader(std::string path, std::string_view text, char separator)
    : path_(std::move(path)), rest_(text), separator_(separator) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (rest_.starts_with(kMark)) rest_.remove_prefix(kMark.size());
}

Result<bool> CsvReader::next(std::vector<Cell>& fields) {
  while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) {
    take_line(rest_);
    ++next_line_;
  }
  if (rest_.empty()) return false;
  line_ = next_line_;
  for (std::size_t count = 1;; ++count) {
    fields.resize(count);
    TRY_DO(take_field(fields.back()));
    if (!rest_.starts_with(separator_)) break;
    rest_.remove_prefix(1);
  }
  if (!rest_.empty() && !rest_.starts_with('\n') && !rest_.starts_with("\r\n"))
    return fail("{}: line {}: \"{}\" after a closing quote, expected \"{}\" or the end of the line",
                path_, line_, rest_.substr(0, 1),
                separator_ == '\t' ? "TAB" : std::string(1, separator_));
  take_line(rest_);
  ++next_line_;
  return true;
}

Result<void> CsvReader::take_field(Cell& field) {
  field.is_quoted = rest_.starts_with('"');
  if (field.is_quoted) return take_quoted(field.text);
  // find_first_of() would call a function for every character.
  const auto end = std::ranges::find_if(
      rest_, [this](char character) { return character == separator_ || character == '\n'; });
  const std::string_view plain = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
  rest_.remove_prefix(plain.size());
  field.text = trim(plain);
  return {};
}

Result<void> CsvReader::take_quoted(std::string& field) {
  field.clear();
  rest_.remove_prefix(1);
  while (!rest_.empty()) {
    const char character = rest_.front();
    rest_.remove_prefix(1);
    if (character == '"') {
      if (!rest_.starts_with('"')) return {};
      rest_.remove_prefix(1);
    }
    if (character == '\n') ++next_line_;
    field += character;
  }
  return fail("{}: line {}: a quote is never closed", path_, line_);
}

char find_separator(std::string_view text) {
  constexpr std::string_view kSeparators = ",;\t";
  std::size_t counts[3] = {};
  bool is_quoted = false;
  for (const char character : text) {
    if (character == '"') is_quoted = !is_quoted;
    if (character == '\n' && !is_quoted) break;
    const std::size_t which = kSeparators.find(character);
    if (which != std::string_view::npos && !is_quoted) ++counts[which];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts)];
}

}  // namespace starling::models
