// ClassWeights: how much a row counts in the loss, by its class.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "models/data/survey.h"

namespace starling::models {

struct ClassWeights {
  // Each class counts as much as another: rows / (classes x rows of the class), over all founders.
  bool are_balanced = false;
  std::vector<std::pair<std::string, double>> named = {};  // others count 1

  bool is_set() const { return are_balanced || !named.empty(); }
};

// "balanced", or "no:1", "yes:10"; nothing: all count 1.
Result<ClassWeights> parse_class_weights(const std::vector<std::string>& words);
std::string to_string(const ClassWeights& weights);

// By class of the table; the error names a class that it has not. Empty: all count 1.
Result<std::vector<double>> weights_of(const ClassWeights& weights, const Survey& table);

}  // namespace starling::models
