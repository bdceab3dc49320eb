// table_notes: what the rows of a table hold that makes errors look smaller than they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.h"

namespace starling::models {

// Finds rows that are equal in every cell that is used. 8 bytes a row.
class RepeatedRows {
 public:
  void add(std::span<const std::string> cells, bool is_held_out);
  // How many rows repeat an earlier one, and how many held-out rows are trained on too. Nothing
  // where they are less than kTold of the rows.
  std::optional<std::string> note();

  // Smaller: rows that are equal by chance are told of too.
  static constexpr double kTold = 0.01;

 private:
  std::vector<std::uint64_t> trained_, held_out_;  // by hash
};

// The class that most rows have, and the share of the rows, held-out ones among them.
struct FrequentClass {
  std::string name;
  double share = 0;
};
// REQUIRES classes and rows.
FrequentClass most_frequent_class(const Dataset& set);

// That one class has nearly all rows, or another nearly none. Nothing for amounts.
std::optional<std::string> rare_class_note(const Data& data);

}  // namespace starling::models
