// Predictor: the predictions of a trained model for new rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
  // Of an ensemble, of each row: how far apart the models are (ensemble.h).
  std::vector<double> spread = {};
};

// How the outputs of a model for a row read as a prediction.
struct OutputForm {
  std::size_t outputs = 1;
  std::vector<std::string> classes = {};  // in their order; empty: amounts
  double mean = 0, unit = 1;              // of amounts, which are mean + unit output
  bool is_log = false;                    // of that the exponential

  // Of outputs row by row.
  Predictions read(std::span<const double> outputs) const;
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
  OutputForm form() const;
  // The outputs for all rows of a table that was read by that layout, or of other data with the
  // model's inputs, row by row, and notes on the rows.
  struct Outputs {
    std::vector<double> numbers = {};
    std::vector<std::string> notes = {};
  };
  Result<Outputs> outputs(const Dataset& set) const;
  // What these say. REQUIRES a model that predicts by itself.
  Result<Predictions> predict(const Dataset& set) const;

 private:
  explicit Predictor(TrainedModel model);
  Result<FeatureMap> map_of(const Dataset& set) const;

  TrainedModel model_;
  std::vector<std::string> classes_;
};

}  // namespace starling::models
