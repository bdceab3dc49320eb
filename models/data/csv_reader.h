// CsvReader: records of fields that a comma, semicolon or tab separates. A field in double quotes
// may hold separators, line ends and, doubled, quotes. Empty lines are skipped, and so is a byte
// order mark.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/data/cell.h"

namespace starling::models {

class CsvReader {
 public:
  // `text` must outlive the reader; `path` is for errors.
  CsvReader(std::string path, std::string_view text, char separator = ',');

  // Puts the next record into `fields`, blanks around plain fields taken off; false at the end.
  Result<bool> next(std::vector<Cell>& fields);
  // The first line of the last record; from 1.
  std::size_t line() const { return line_; }
  const std::string& path() const { return path_; }

 private:
  Result<void> take_field(Cell& field);
  Result<void> take_quoted(std::string& field);

  std::string path_;
  std::string_view rest_;
  char separator_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
};

// Comma, semicolon or tab: the most frequent in the first line, outside quotes; comma if none.
char find_separator(std::string_view text);

}  // namespace starling::models
