// ModelCard: the meaning of a model's parameters; both together can predict.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/survey.h"
#include "models/nets/model_options.h"
#include "models/nets/network_shape.h"

namespace starling::models {

// Of a model of the columns of one site (models/dual/): its outputs are to be added to those of the
// other sites for the same row.
struct ColumnPart {
  std::string key;                 // the column that names a row
  std::string site, holder;        // whose columns they are, and who has the target
  std::vector<std::string> sites;  // that began together

  bool is_holder() const { return site == holder; }
};

struct ModelCard {
  ModelKind kind = ModelKind::linear;
  NetworkShape shape;
  Source source = Source::csv;
  std::size_t classes = 0;      // 0 for regression
  std::optional<Survey> table;  // of a table: its features, target and classes
  double l2 = 0;                // with which it was trained, for people
  std::optional<ColumnPart> part = {};  // nothing: it predicts by itself
};

// A model that exists: its parameters are shape's, in the order of Network.
struct TrainedModel {
  ModelCard card;
  std::vector<double> parameters;
};

// model.l2, or what auto stands for: a strength over all rows of the table; without one 0.
double l2_of(const ModelOptions& model, const std::optional<Survey>& table);
// "10 / 10,900 rows, ...": why auto stands for that.
std::string explain_l2(const Survey& table);

// The shape for a kind, not auto, and such inputs; 0 classes for regression.
NetworkShape shape_of(const ModelOptions& model, Source source, const SampleShape& input,
                      std::size_t classes);

// The inputs of a model of that kind on the columns of a data set that is no table.
SampleShape input_of(ModelKind kind, const Dataset& set);

// Whether the layers fit and are of a size that a node may hold; the error names the key.
Result<void> check_shape(ModelKind kind, const NetworkShape& shape);

// The surveys of all founders, from their text forms.
Result<std::vector<Survey>> decode_surveys(std::span<const std::string> surveys);
// Merges them.
Result<Survey> merge_texts(std::span<const std::string> surveys);

}  // namespace starling::models
