// data.target-scale = log: amounts with a long tail.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/data/table_notes.h"
#include "models/linear/feature_map.h"
#include "models/nets/model_card.h"
#include "models/predictor.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

DataOptions options_of(const std::string& path, TargetScale scale = TargetScale::log) {
  DataOptions options{.source = Source::csv, .path = path};
  options.target = "cost";
  options.holdout = 0;
  options.target_scale = scale;
  options.shard.kind = ShardChoice::Kind::all;
  return options;
}

// cost = exp(days / 10)
std::string costs(std::size_t rows) {
  std::string text = "days,cost\n";
  for (std::size_t r = 0; r < rows; ++r)
    text += fmt::format("{},{:.6f}\n", r, std::exp(static_cast<double>(r) / 10));
  return text;
}

}  // namespace

TEST_CASE("By its logarithm a linear model has an exponential law exactly and in its units") {
  const Folder folder("log");
  const DataOptions options = options_of(folder.write("a.csv", costs(60)));
  const ModelOptions model{.kind = ModelKind::linear};
  const auto data = load_shared(options);
  const auto node = value_of(make_objective<double>(model, options, data));
  node->assign(shard_of(1, 0));
  const std::vector<std::string> surveys{node->survey()};
  CHECK(value_of(decode_survey(surveys.front())).is_log);
  REQUIRE(node->found(surveys));
  std::vector<double> x(2), zero(2);
  REQUIRE(node->minimize(zero, 0, x));
  CHECK(*node->evaluate(x, 0).rmse < 1e-3);
  CHECK(*node->evaluate(zero, 0).rmse > 50);
  const ModelCard card = value_of(make_card(model, options, data->train, surveys));
  const Predictions said =
      value_of(value_of(Predictor::make({.card = card, .parameters = x})).predict(data->train));
  CHECK(said.amounts[30] == doctest::Approx(std::exp(3.0)).epsilon(1e-4));
}

TEST_CASE("A target that has no logarithm is refused with its line and cell") {
  const Folder folder("refused");
  const auto refused = [&](const std::string& text) {
    const auto data = load(options_of(folder.write("a.csv", text)));
    REQUIRE(!data);
    return data.error().text;
  };
  CHECK(refused("days,cost\n1,2.5\n2,-3\n3,4.25\n")
            .find("a.csv: line 3: target cost holds -3, and data.target-scale = log needs amounts "
                  "above 0") != std::string::npos);
  CHECK(refused("days,cost\n1,a\n2,b\n3,a\n").find("target cost holds classes") !=
        std::string::npos);
}

TEST_CASE("Founders of two scales do not merge") {
  const Folder folder("two");
  const std::string path = folder.write("a.csv", costs(60));
  std::vector<std::string> surveys;
  for (const TargetScale scale : {TargetScale::plain, TargetScale::log}) {
    const DataOptions options = options_of(path, scale);
    const auto node = value_of(
        make_objective<double>({.kind = ModelKind::linear}, options, load_shared(options)));
    node->assign(shard_of(1, 0));
    surveys.push_back(node->survey());
  }
  const auto merged = merge_texts(surveys);
  REQUIRE(!merged);
  CHECK(merged.error().text.find("data.target-scale") != std::string::npos);
}

TEST_CASE("Only a tail that logarithms take away is told of") {
  const Folder folder("tail");
  const auto note = [&](const std::string& text, TargetScale scale = TargetScale::plain) {
    const Data data = value_of(load(options_of(folder.write("a.csv", text), scale)));
    return heavy_tail_note(data, "cost", scale).value_or("");
  };
  CHECK(note(costs(90)).starts_with("target cost has a long tail: its amounts have skewness "));
  CHECK(note(costs(60), TargetScale::log).empty());
  std::string even = "days,cost\n";
  for (int i = 1; i <= 60; ++i) even += fmt::format("{},{}.5\n", i, i);
  CHECK(note(even).empty());
  CHECK(note(costs(60) + "3,-0.5\n").empty());
}
