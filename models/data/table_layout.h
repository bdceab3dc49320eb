// TableLayout: which columns a table has and what each holds, so that any file with these columns
// can be read, in any order.
#pragma once

#include <string>
#include <vector>

#include "models/data/dataset.h"

namespace starling::models {

struct TableLayout {
  struct Column {
    std::string name;
    ColumnKind kind = ColumnKind::numbers;
  };
  std::vector<Column> columns;  // features
  std::string target;           // empty: none, or none wanted
  bool classifies = false;      // the target is a class
};

}  // namespace starling::models
