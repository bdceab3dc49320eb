#include "models/csv_reader.h"

#include "base/settings.h"
#include "models/gz_file.h"

namespace starling::models {

Result<bool> CsvReader::next(std::vector<std::string>& fields) {
  while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) {
    take_line(rest_);
    ++next_line_;
  }
  if (rest_.empty()) return false;
  line_ = next_line_;
  for (std::size_t count = 1;; ++count) {
    fields.resize(count);
    TRY_DO(take_field(fields.back()));
    if (!rest_.starts_with(',')) break;
    rest_.remove_prefix(1);
  }
  if (!rest_.empty() && !rest_.starts_with('\n') && !rest_.starts_with("\r\n"))
    return fail("{}: line {}: \"{}\" after a closing quote, expected a comma", path_, line_,
                rest_.substr(0, 1));
  take_line(rest_);
  ++next_line_;
  return true;
}

Result<void> CsvReader::take_field(std::string& field) {
  if (rest_.starts_with('"')) return take_quoted(field);
  const std::string_view plain = rest_.substr(0, rest_.find_first_of(",\n"));
  rest_.remove_prefix(plain.size());
  field = trim(plain);
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

}  // namespace starling::models
