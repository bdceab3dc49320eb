// TableLayout: which columns a table has and what each holds, so that any file with these columns
// can be read, in whatever order it has them.
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
  std::string target;           // empty: there is none, or none is asked for
  bool classifies = false;      // the target is a class
};

}  // namespace starling::models
