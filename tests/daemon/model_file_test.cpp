#include "daemon/process/model_file.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/prng.h"
#include "daemon/cli/offline/scores_text.h"
#include "daemon/process/safetensors.h"
#include "daemon/rest/predict_json.h"
#include "models/data/load.h"
#include "models/linear/feature_map.h"
#include "models/nets/layer_registry.h"
#include "models/nets/network.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

constexpr double kThird = 1.0 / 3;

// age (mean 40, deviation 10) and job (clerk, nurse, or missing) decide between two classes.
models::TrainedModel classifier() {
  models::TrainedModel model;
  models::Survey table;
  table.columns = {
      {"age", models::Content::numbers, {.count = 4, .mean = 40 + kThird, .squares = 400}, {}},
      {"job", models::Content::words, {}, {"", "clerk", "nurse"}}};
  for (models::ColumnSurvey& column : table.columns)
    column.form = models::plain_form(column.content);
  table.target_form = models::plain_form(models::Content::numbers);
  table.missing_cells = models::default_missing_words();
  std::ranges::sort(table.missing_cells);
  table.target = "ill";
  table.classifies = true;
  table.classes = {"no", "yes"};
  table.rows = 4;
  table.is_fixed = true;
  model.card = {.kind = models::ModelKind::softmax,
                .shape = models::dense_network({4, 2}, models::Loss::cross_entropy),
                .source = models::Source::csv,
                .classes = 2,
                .table = table};
  model.parameters = {0, 1, 0, 0.5, 0, -1, 0, 2, 0, 0.25};
  return model;
}

models::TrainedModel regressor() {
  models::TrainedModel model = classifier();
  model.card.kind = models::ModelKind::linear;
  model.card.shape = models::dense_network({4, 1});
  model.card.classes = 0;
  model.card.table->classifies = false;
  model.card.table->classes = {};
  model.card.table->amounts = {.count = 4, .mean = 100, .squares = 16};
  model.parameters = {1, 0.5, -1, 2, 0.25};
  return model;
}

// Of a table with decimal commas.
models::TrainedModel german() {
  models::TrainedModel model = classifier();
  model.card.table->decimal_comma = true;
  model.card.table->columns[0].form.decimal_comma = true;
  model.card.table->missing = {"k.A."};
  return model;
}

std::string bytes_of(const models::TrainedModel& model) {
  return write_model(model.card, model.parameters, models::Precision::f64, {{"node", "a"}});
}

template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().text);
  return *std::move(result);
}

std::string error_of(const models::TrainedModel& model, const json& body) {
  const auto answer = predict_json(model, body);
  REQUIRE(!answer);
  return answer.error().text;
}

}  // namespace

TEST_CASE("A model's file gives back the model to the last bit") {
  models::TrainedModel penalized = classifier();
  penalized.card.l2 = 0.01;
  penalized.card.table->trial = models::PenaltyTrial{.rows = 90, .excess = {4, 1.5, 0, 2, 3}};
  penalized.card.table->class_rows.assign(penalized.card.table->classes.size(), 45);
  for (const models::TrainedModel& model : {classifier(), regressor(), german(), penalized}) {
    const models::TrainedModel again = value_of(parse_model(bytes_of(model)));
    CHECK(again.parameters == model.parameters);
    CHECK(again.card.kind == model.card.kind);
    CHECK(again.card.shape == model.card.shape);
    CHECK(again.card.l2 == model.card.l2);
    CHECK(encode(*again.card.table) == encode(*model.card.table));
    CHECK(bytes_of(again) == bytes_of(model));
  }
}

TEST_CASE("A model of a table with decimal commas reads them and its words for missing") {
  const auto body = [](const json& age) -> json {
    return {{"rows", json::array({json{{"age", age}, {"job", "nurse"}}})}};
  };
  const auto answer = [&](const models::TrainedModel& model, const json& age) {
    return value_of(predict_json(model, body(age)));
  };
  CHECK(answer(german(), "41,5") == answer(german(), "41.5"));
  CHECK(answer(german(), "41,512") == answer(german(), 41.512));
  CHECK(answer(classifier(), "41.512") == answer(german(), 41.512));
  CHECK(answer(classifier(), "41,512") == answer(german(), 41512));
  CHECK(answer(german(), "k.A.") == answer(german(), "NA"));
  CHECK(error_of(classifier(), body("old")).find("write NA where it is missing") !=
        std::string::npos);
}

TEST_CASE("A model's file has a tensor for each layer") {
  models::TrainedModel model = classifier();
  model.card.kind = models::ModelKind::mlp;
  model.card.shape = models::dense_network({4, 3, 2}, models::Loss::cross_entropy);
  model.parameters.assign(4 * 3 + 3 + 3 * 2 + 2, 0.5);
  const Safetensors file = value_of(read_safetensors(bytes_of(model)));
  REQUIRE(file.tensors.size() == 4);
  CHECK(file.tensors.at("layer0.weight").extents == std::vector<std::size_t>{4, 3});
  CHECK(file.tensors.at("layer0.bias").extents == std::vector<std::size_t>{3});
  CHECK(file.tensors.at("layer1.weight").extents == std::vector<std::size_t>{3, 2});
  CHECK(file.tensors.at("layer1.bias").extents == std::vector<std::size_t>{2});
  CHECK(file.metadata.at("node") == "a");
}

TEST_CASE("The file of a net gives back its layers and what it says of images") {
  models::TrainedModel model;
  model.card.kind = models::ModelKind::net;
  model.card.source = models::Source::digits;
  model.card.classes = 10;
  model.card.shape.input = models::SampleShape({.height = 28, .width = 28, .channels = 1});
  const std::vector<std::string> layers{"conv:4:5", "norm", "pool:3", "dense:10"};
  model.card.shape.layers = value_of(models::parse_layers(layers));
  model.card.shape.loss = models::Loss::cross_entropy;
  models::Network<double> network(model.card.shape);
  model.parameters.resize(network.dimension());
  network.initialize(model.parameters, 1);
  const std::string bytes = bytes_of(model);
  const models::TrainedModel again = value_of(parse_model(bytes));
  CHECK(again.card.shape == model.card.shape);
  CHECK(again.card.kind == models::ModelKind::net);
  CHECK(bytes_of(again) == bytes);
  const Safetensors file = value_of(read_safetensors(bytes));
  REQUIRE(file.tensors.size() == 8);
  CHECK(file.tensors.at("layer0.weight").extents == std::vector<std::size_t>{4, 1, 5, 5});
  CHECK(file.tensors.at("layer1.running_square").extents == std::vector<std::size_t>{4});
  CHECK(file.tensors.at("layer3.weight").extents == std::vector<std::size_t>{8 * 8 * 4, 10});
  // The model that was read says of an image what the written one says.
  const models::Data data = models::draw_digits(10, 1);
  std::vector<double> image(28 * 28);
  const std::vector<std::uint32_t> rows{3};
  models::FeatureMap(data.train).gather(data.train, rows, image.data());
  const models::Block<double> block{.rows = 1, .inputs = image.data(), .truth = {}};
  models::Network<double> other(again.card.shape);
  CHECK(std::ranges::equal(other.outputs(again.parameters, block),
                           network.outputs(model.parameters, block)));
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Prng prng(seed);
    std::string damaged = bytes;
    for (int i = 0; i < 2; ++i)
      damaged[prng.below(600)] = static_cast<char>('0' + static_cast<char>(prng.below(10)));
    if (const auto read = parse_model(damaged))
      CHECK(read->parameters.size() == dimension(read->card.shape));
  }
}

TEST_CASE("What is no model is refused and damage never gets further than an error") {
  CHECK_FALSE(parse_model(""));
  CHECK_FALSE(parse_model(std::string(7, '\0')));
  CHECK_FALSE(parse_model(std::string(100, '\xff')));
  const std::string good = bytes_of(classifier());
  for (std::size_t size = 0; size < good.size(); size += 7)
    CHECK_FALSE(parse_model(good.substr(0, size)));
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Prng prng(seed);
    std::string damaged = good;
    for (int i = 0; i < 2; ++i)
      damaged[prng.below(damaged.size())] = static_cast<char>(prng.below(256));
    auto model = parse_model(damaged);
    if (!model) continue;
    const auto answer = predict_json(*std::move(model), {{"rows", {{{"age", 1}, {"job", "x"}}}}});
    if (answer) CHECK(answer->contains("predictions"));
  }
  const std::vector<optim::ParameterBlock> places{{"w", {1}, 0}};
  const std::vector<double> one{1};
  const auto other = safetensors(places, one, models::Precision::f32, {});
  const std::vector<PlacedTensor> counts{{.name = "n", .type = "I64", .extents = {1}, .bytes = 8}};
  const std::string own = safetensors_head(counts, {{"node", "node-0"}}) + std::string(8, '\0');
  CHECK(parse_model(own).error().text.find("starling.load(FILE, model)") != std::string::npos);
  CHECK(parse_model(other).error().text.find("no model of this program") != std::string::npos);
}

TEST_CASE("Rows in JSON get the prediction of the closed form") {
  const json rows = {{{"age", 50}, {"job", "nurse"}, {"more", 1}},
                     {{"age", nullptr}, {"job", "?"}},
                     {{"age", "60"}, {"job", "smith"}}};
  const auto answer = value_of(predict_json(classifier(), {{"rows", rows}}));
  // Features: (age - mean) / deviation, then the words "", clerk and nurse.
  const double scaled = (50 - 40 - kThird) / 10, older = (60 - 40 - kThird) / 10;
  const double outputs[] = {scaled + 2 + 0.25, 0.5 + 0.25, older + 0.25};
  for (std::size_t r = 0; r < 3; ++r) {
    const auto& prediction = answer["predictions"][r];
    CHECK(prediction["prediction"] == "yes");
    CHECK(prediction["probabilities"]["yes"].get<double>() ==
          doctest::Approx(1 / (1 + std::exp(-outputs[r]))).epsilon(1e-12));
  }
  REQUIRE(answer["notes"].size() == 1);
  CHECK(answer["notes"][0] == "column job: 1 rows hold \"smith\", which the model has not seen");
  const auto amounts = value_of(predict_json(regressor(), {{"rows", rows}}));
  CHECK(amounts["predictions"][0]["prediction"].get<double>() ==
        doctest::Approx(100 + 2 * (scaled + 2 + 0.25)).epsilon(1e-12));
}

TEST_CASE("Requests to predict that do not fit are refused with what is expected") {
  const models::TrainedModel model = classifier();
  CHECK(error_of(model, {}) == "expected {\"rows\": [{\"COLUMN\": VALUE, ...}, ...]}");
  CHECK(error_of(model, {{"rows", {1}}}) == "row 0: expected an object of columns");
  CHECK(error_of(model, {{"rows", {{{"age", 1}}}}}) ==
        "row 0: has no column job; null says that its value is missing");
  CHECK(error_of(model, {{"rows", {{{"age", "old"}, {"job", "x"}}}}})
            .starts_with("row 0: column age holds \"old\", expected a number"));
  CHECK(error_of(model, {{"rows", {{{"age", json::array()}, {"job", "x"}}}}}) ==
        "row 0: column age: expected a number, a text, true, false or null");
  CHECK(error_of(model, {{"rows", json::array_t(kPredictRowsLimit + 1)}}) ==
        "10001 rows, expected at most 10000");
  models::TrainedModel images = model;
  images.card.table.reset();
  images.card.source = models::Source::idx;
  CHECK(error_of(images, {{"rows", json::array()}}).find("data.source = idx") != std::string::npos);
}

TEST_CASE("Scores of classes are those of the confusion matrix") {
  models::Dataset set;
  set.rows = 6;
  set.class_names = {"a", "b", "z"};
  set.labels = {0, 0, 1, 1, 1, 2};
  const std::vector<std::string> classes{"a", "b"};
  models::Predictions predictions;
  predictions.rows = 6;
  predictions.likeliest = {0, 1, 1, 1, 0, 0};
  for (const double second : {0.1, 0.6, 0.6, 0.9, 0.3, 0.2}) {
    predictions.probabilities.push_back(1 - second);
    predictions.probabilities.push_back(second);
  }
  const models::Scores scores = score_classes(set, predictions, classes);
  CHECK(scores.accuracy == 0.5);
  CHECK(scores.unknown == 1);
  CHECK(scores_text(scores).find("such as \"z\"") != std::string::npos);
  CHECK(scores.confusion == std::vector<std::vector<std::size_t>>{{1, 1}, {1, 2}});
  CHECK(scores.classes[0].precision == 0.5);
  CHECK(scores.classes[1].recall == doctest::Approx(2.0 / 3));
  // Pairs of one a and one b: (.1 .6) (.1 .9) (.1 .3) (.6 .9) right, (.6 .6) a tie, (.6 .3) wrong.
  CHECK(*scores.area_under_curve == doctest::Approx(4.5 / 6));
  CHECK(scores_json(scores)["auc"].get<double>() == doctest::Approx(0.75));
  CHECK(scores_text(scores).find("auc       0.7500") != std::string::npos);
  // The precision down to each b, by probability: 1 of 1, 2 of 3, 3 of 4.
  CHECK(*scores.average_precision == doctest::Approx((1 + 2.0 / 3 + 3.0 / 4) / 3));
  CHECK(scores_json(scores)["average_precision"] == *scores.average_precision);
  CHECK(scores_text(scores).find(
            "ap        0.8056  area under precision by recall of \"b\"; 0.5") != std::string::npos);
  // Of six rows three are of b, and one of a class that the model does not know.
  CHECK(scores_text(scores).find("baseline  0.5000  accuracy of \"b\" as the only answer\n") !=
        std::string::npos);
  CHECK(scores.balanced_accuracy == doctest::Approx((1.0 / 2 + 2.0 / 3) / 2));
  CHECK(scores_json(scores)["balanced_accuracy"] == scores.balanced_accuracy);
}

TEST_CASE("Scores of amounts are those of the errors") {
  models::Dataset set;
  set.rows = 3;
  set.targets = {1, 2, 3};
  models::Predictions predictions;
  predictions.rows = 3;
  predictions.amounts = {2, 2, 1};
  const models::Scores scores = score_amounts(set, predictions);
  CHECK(scores.rmse == doctest::Approx(std::sqrt(5.0 / 3)));
  CHECK(scores.mean_absolute_error == 1);
  CHECK(scores.baseline_rmse == doctest::Approx(std::sqrt(2.0 / 3)));
  CHECK(*scores.r_squared == doctest::Approx(1 - 5.0 / 2));
}
