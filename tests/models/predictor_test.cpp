#include "models/predictor.h"

#include <algorithm>
#include <functional>

#include "models/scores.h"
#include "tests/models/every_model.h"

using namespace starling;
using namespace starling::models;

TEST_CASE("A model of anything but a table predicts what its objective computes") {
  for_every_model("predictor", [](const Case& each, optim::Objective<double>& objective) {
    if (each.data.source == Source::csv) return;
    const auto data = load_shared(each.data);
    const std::vector<double> x = random_point(objective.dimension());
    const ModelCard card = value_of(make_card(each.model, each.data, data->train, {}));
    const Predictor predictor = value_of(Predictor::make({card, x}));
    const Dataset rows = value_of(load_shown(each.data, card.shape.input.size));
    const Predictions predictions = value_of(predictor.predict(rows));
    CHECK(predictions.rows == rows.rows);
    if (each.data.source == Source::reference) return;  // a node holds one problem of all
    const optim::Evaluation expected = objective.evaluate(x, 0);
    CHECK(expected.samples == rows.rows);
    if (predictor.classes().empty()) {
      CHECK(score_amounts(rows, predictions).rmse == doctest::Approx(*expected.rmse));
      return;
    }
    const Scores scores = score_classes(rows, predictions, predictor.classes());
    CHECK(scores.accuracy == doctest::Approx(*expected.accuracy));
    CHECK(std::ranges::is_sorted(scores.surest_mistakes, std::greater(), &Mistake::probability));
    for (const Mistake& mistake : scores.surest_mistakes) {
      CHECK(mistake.truth == fmt::to_string(rows.labels[mistake.row]));
      CHECK(mistake.prediction == fmt::to_string(predictions.likeliest[mistake.row]));
      CHECK(mistake.prediction != mistake.truth);
    }
  });
}

TEST_CASE("Sparse rows may have columns that the model does not know") {
  const Folder folder("shown");
  const auto shown = [&](const std::string& text) {
    return value_of(
        load_shown({.source = Source::libsvm, .path = folder.write("rows", text)}, /*columns=*/5));
  };
  const Dataset more = shown("+1 1:1 7:3\n-1 6:1\n-1 2:4 5:2 9:1\n");
  const Dataset without = shown("+1 1:1\n-1\n-1 2:4 5:2\n");
  CHECK(more.columns == 5);
  CHECK(without.columns == 5);
  const auto& left = std::get<SparseFeatures>(more.features);
  const auto& right = std::get<SparseFeatures>(without.features);
  CHECK(left.row_start == right.row_start);
  for (std::size_t i = 0; i < right.row_start.back(); ++i) {
    CHECK(left.column[i] == right.column[i]);
    CHECK(left.value[i] == right.value[i]);
  }
}

TEST_CASE("A model whose classes are not those of its outputs is refused") {
  ModelCard card{.kind = ModelKind::softmax,
                 .shape = dense_network({4, 3}, Loss::cross_entropy),
                 .source = Source::digits,
                 .classes = 4,
                 .table = {}};
  const std::vector<double> x(dimension(card.shape));
  CHECK(Predictor::make({card, x}).error().text ==
        "the model has 3 outputs, and 4 classes, expected 3");
  card.classes = 3;
  CHECK(Predictor::make({card, x}).has_value());
}
