// CsvReader: records of comma-separated fields. A field in double quotes may hold commas, line
// ends and, doubled, quotes. Lines without a character are skipped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace starling::models {

class CsvReader {
 public:
  // `text` is looked at as long as the reader lives; `path` is for errors.
  CsvReader(std::string path, std::string_view text) : path_(std::move(path)), rest_(text) {}

  // Puts the next record into `fields`, blanks around plain fields taken off; false at the end.
  Result<bool> next(std::vector<std::string>& fields);
  // Of the first line of the record that was given last; from 1.
  std::size_t line() const { return line_; }
  const std::string& path() const { return path_; }

 private:
  Result<void> take_field(std::string& field);
  Result<void> take_quoted(std::string& field);

  std::string path_;
  std::string_view rest_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
};

}  // namespace starling::models
