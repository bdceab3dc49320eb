// csv_layout: chooses the use of a table's columns by their cells.
#pragma once

#include <string>
#include <vector>

#include "models/data/csv_profile.h"
#include "models/data/data_options.h"
#include "models/data/table_builder.h"

namespace starling::models {

struct CsvDecision {
  TableLayout layout;
  // Surprising decisions, a sentence each.
  std::vector<std::string> notes;
  // Why these data cannot be used as they are, and what to do, a sentence each.
  std::vector<std::string> refusals;
};

CsvDecision decide_layout(const TableProfile& profile, const DataOptions& options);

}  // namespace starling::models
