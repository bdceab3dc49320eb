// Which moments of several founders are plausible beside each other. One founder that tells a mean
// of 1e9 would else make a constant of the column at all nodes.
#pragma once

#include <span>
#include <vector>

#include "models/data/moments.h"

namespace starling::models {

// A founder's numbers lie so many spreads from those of the others at most. Larger: a false mean
// squeezes a column further. Smaller: a founder whose numbers are right to differ does not count.
inline constexpr double kSpreadsMost = 100;
// A founder has at most so many times the rows of the median founder. Larger: one false count
// replaces what all others tell.
inline constexpr double kRowsMost = 1000;

// REQUIRES a number.
double median(std::vector<double> values);

// Empties those whose mean lies more than kSpreadsMost spreads from the median of the means, or
// whose deviation is longer than that; a spread is the larger of the median deviation and the
// median distance of the means from their median. Lessens counts above kRowsMost medians. Leaves
// all as they are if fewer than three have numbers, or if the spread is 0: then nothing says which.
void leave_out_implausible(std::span<Moments* const> of_founders);

}  // namespace starling::models
