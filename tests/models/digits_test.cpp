#include "models/data/load.h"

#include <algorithm>

#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

double accuracy_after(const ModelOptions& model, const DataOptions& options,
                      const std::shared_ptr<const Data>& data, double rate, int steps) {
  const auto objective = value_of(make_objective<float>(model, options, data));
  objective->assign(shard_of(1, 0));
  std::vector<float> x(objective->dimension());
  objective->initialize(x, 1);
  descend(*objective, x, rate, 64, steps);
  return *objective->evaluate(x, 0).accuracy;
}

}  // namespace

TEST_CASE("Digits are the same for the same seed and even over classes") {
  const Data a = draw_digits(200, 1);
  const Data b = draw_digits(200, 1);
  const auto& pixels = std::get<ByteFeatures>(a.train.features).values;
  CHECK(pixels == std::get<ByteFeatures>(b.train.features).values);
  CHECK(a.train.labels == b.train.labels);
  CHECK(a.test.rows == 40);
  CHECK(std::ranges::count(a.train.labels, 7) == 20);
  CHECK(pixels != std::get<ByteFeatures>(draw_digits(200, 2).train.features).values);
}

TEST_CASE("A network reads digits better than a linear model") {
  const DataOptions options{.source = Source::digits, .samples = 3000};
  const auto data = load_shared(options);
  const double linear = accuracy_after({.kind = ModelKind::softmax}, options, data, 0.1, 400);
  const double network =
      accuracy_after({.kind = ModelKind::mlp, .hidden = {32}}, options, data, 0.1, 600);
  CHECK(linear > 0.7);
  CHECK(network > linear + 0.05);
}

TEST_CASE("A node with few classes learns only those") {
  DataOptions options{.source = Source::digits, .samples = 2000};
  const auto data = load_shared(options);
  options.shard = {.kind = ShardChoice::Kind::part, .index = 0, .count = 5};
  const double even = accuracy_after({.kind = ModelKind::softmax}, options, data, 0.1, 300);
  options.partition.kind = Partition::Kind::by_label;
  const double skewed = accuracy_after({.kind = ModelKind::softmax}, options, data, 0.1, 300);
  CHECK(even > 0.6);
  CHECK(skewed < 0.25);
}
