// table_notes: what the rows of a table hold that makes errors look smaller than they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

// How many rows repeat an earlier one in every cell that is used, and how many held-out rows are
// trained on too, by the hashes of all rows (row_hashes.h). Nothing where few do.
std::optional<std::string> repeated_rows_note(std::vector<std::uint64_t> trained,
                                              const std::vector<std::uint64_t>& held_out);

// The class that most rows have, and the share of the rows, held-out ones among them.
struct FrequentClass {
  std::string name;
  double share = 0;
};
// REQUIRES classes and rows.
FrequentClass most_frequent_class(const Dataset& set);

// The class with the fewest rows, if they are fewer than kRare of what each would have.
inline constexpr double kRare = 0.2;
std::optional<std::size_t> rare_class(const std::vector<double>& rows_of_classes);

// That the amounts have a long tail above, which their logarithms do not have. Nothing where some
// are not above 0, or logarithms are taken already.
std::optional<std::string> heavy_tail_note(const Data& data, const std::string& target,
                                           TargetScale scale);

// That one class has nearly all rows, or another nearly none. Nothing for amounts.
std::optional<std::string> rare_class_note(const Data& data);

}  // namespace starling::models
