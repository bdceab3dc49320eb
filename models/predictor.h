// Predictor: the predictions of a trained model for new rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/dataset.h"
#include "models/data/table_builder.h"
#include "models/linear/feature_map.h"
#include "models/nets/model_card.h"

namespace starling::models {

struct Predictions {
  std::size_t rows = 0;
  std::vector<double> amounts;           // regression: one a row, in units of the target
  std::vector<double> probabilities;     // classification: row-major, rows x classes
  std::vector<std::uint32_t> likeliest;  // classification: the class of a row, the lowest of equals
  std::vector<std::string> notes;        // values in the rows that the model does not know
};

class Predictor {
 public:
  // Refuses a wrong number of parameters.
  static Result<Predictor> make(TrainedModel model);

  const ModelCard& card() const { return model_.card; }
  // Of the outputs, ascending; "0", "1", … where the data have no names. None for amounts.
  const std::vector<std::string>& classes() const { return classes_; }
  // The columns that a table must have; with the target, for scores. REQUIRES a model of a table.
  TableLayout layout(bool with_target) const;
  // For all rows of a table that was read by that layout, or of other data with the model's inputs.
  Result<Predictions> predict(const Dataset& set) const;

 private:
  explicit Predictor(TrainedModel model);
  Result<FeatureMap> map_of(const Dataset& set) const;
  void decide(const double* outputs, std::size_t rows, Predictions& predictions) const;

  TrainedModel model_;
  std::vector<std::string> classes_;
};

}  // namespace starling::models
