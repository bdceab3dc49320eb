// row_hashes: tells equal rows of tables apart from others, whatever the order of their columns and
// the format of their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/dataset.h"

namespace starling::models {

// Of every row, with its target. Equal rows of any two sets of one table have equal hashes.
// REQUIRES TableFeatures.
std::vector<std::uint64_t> row_hashes(const Dataset& set);
// Of rows in that order, from their hashes.
std::uint64_t hash_in_order(const std::vector<std::uint64_t>& rows);

}  // namespace starling::models
