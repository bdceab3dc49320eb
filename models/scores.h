// Scores: how good predictions are, by common measures.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.h"
#include "models/predictor.h"

namespace starling::models {

struct ClassScore {
  std::string name;
  std::size_t rows = 0;  // that are of the class
  // The share of predictions of it that is right; none: no predictions.
  std::optional<double> precision = {};
  // The share of the class's rows that were found; none: no rows.
  std::optional<double> recall = {};
};

// A row that was taken for another class.
struct Mistake {
  std::size_t row = 0;  // from 0
  std::string truth, prediction;
  double probability = 0;  // of the prediction
};

inline constexpr std::size_t kMistakesTold = 5;

struct Scores {
  std::size_t rows = 0;
  // Classification.
  double accuracy = 0;
  // The mean of the recalls of the classes that have rows: a rare class counts as much as another.
  double balanced_accuracy = 0;
  // Of the most frequent class as the only answer, and that class.
  double baseline_accuracy = 0;
  std::string baseline_class;
  std::vector<ClassScore> classes;
  std::vector<std::vector<std::size_t>> confusion;  // [true class][predicted class]
  // Of two classes: how often a row of the second gets a higher probability of it than a row of the
  // first; ties count half. None if one class has no row.
  std::optional<double> area_under_curve;
  // Of two classes, of the second: see linear/area_under_curve.h.
  std::optional<double> average_precision;
  // Those with the highest probability, the highest first.
  std::vector<Mistake> surest_mistakes;
  // Rows of a class that the model does not know: they count as wrong, and in no class above.
  std::size_t unknown = 0;
  std::string first_unknown;  // the class of the first of them
  // Regression, in units of the target.
  double rmse = 0, mean_absolute_error = 0;
  double baseline_rmse = 0;         // of the mean of the rows as the only answer
  std::optional<double> r_squared;  // none for a constant target
};

// The scores of the rows of `set`, which has labels; `classes` are the model's, ascending.
Scores score_classes(const Dataset& set, const Predictions& predictions,
                     std::span<const std::string> classes);
Scores score_amounts(const Dataset& set, const Predictions& predictions);

}  // namespace starling::models
