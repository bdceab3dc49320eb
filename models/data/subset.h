// subset: some rows of data sets, as a data set of its own.
#pragma once

#include <cstdint>
#include <span>

#include "models/data/dataset.h"

namespace starling::models {

// Row i is row rows[i] of `set`. Columns, classes and words are those of `set`, used or not.
Dataset subset(const Dataset& set, std::span<const std::uint32_t> rows);

// The rows of `one`, and after them those of `other`. REQUIRES that they are alike.
Dataset joined(Dataset one, const Dataset& other);

// Whether rows of both mean the same: the same columns, words and classes, in the same order.
bool are_alike(const Dataset& one, const Dataset& other);

}  // namespace starling::models
