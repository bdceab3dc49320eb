// What is said of classes beside accuracy, and how much their rows count.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/data/table_notes.h"
#include "models/linear/area_under_curve.h"
#include "models/linear/loss.h"
#include "models/nets/class_tally.h"
#include "models/nets/class_weights.h"
#include "models/nets/model_card.h"
#include "models/nets/own_fit.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// One row in `every` is of class yes, which the number x tells from no.
std::string table_of(std::size_t rows, std::size_t every) {
  Prng prng(every);
  std::string text = "x,y\n";
  for (std::size_t r = 0; r < rows; ++r) {
    const bool yes = r % every == 0;
    text += fmt::format("{:.3f},{}\n", prng.normal() + (yes ? 1.5 : 0), yes ? "yes" : "no");
  }
  return text;
}

using Node = std::unique_ptr<optim::Objective<double>>;

Node node_of(const ModelOptions& model, const DataOptions& options, std::size_t nodes = 1) {
  Node node = value_of(make_objective<double>(model, options, load_shared(options)));
  node->assign(shard_of(nodes, 0));
  return node;
}

std::vector<std::string> words(const std::string& text) {
  return split(text, ',');
}

}  // namespace

TEST_CASE("The area under the curve counts pairs and the average precision the rows above") {
  const auto area = area_under_curve({0.1, 0.4, 0.35, 0.8}, {false, false, true, true});
  REQUIRE(area);
  CHECK(area->area == doctest::Approx(0.75));
  CHECK(area->pairs == 4);
  CHECK(area_under_curve({1, 1}, {true, false})->area == 0.5);
  CHECK_FALSE(area_under_curve({1, 2}, {true, true}));
  CHECK_FALSE(area_under_curve({}, {}));
  // The example of scikit-learn's average_precision_score.
  CHECK(*average_precision({0.1, 0.4, 0.35, 0.8}, {false, false, true, true}) ==
        doctest::Approx(5.0 / 6));
  CHECK(*average_precision({1, 1, 1, 1}, {true, false, false, false}) == 0.25);
  CHECK_FALSE(average_precision({1, 2}, {false, false}));
}

TEST_CASE("A tally of one output and of two finds the same rows of the rare class") {
  optim::Evaluation one, two;
  const std::vector<std::int32_t> labels{0, 1, 1, 0};
  ClassTally single(2, ClassTally::Rare{1, "yes"}), both(2, ClassTally::Rare{1, "yes"});
  single.add<double>(std::vector<double>{-1, 2, -3, 1}, labels);
  both.add<double>(std::vector<double>{1, 0, 0, 2, 4, 1, 0, 1}, labels);
  single.write(one);
  both.write(two);
  for (const optim::Evaluation* seen : {&one, &two}) {
    REQUIRE(seen->rare);
    CHECK(seen->rare->name == "yes");
    CHECK(seen->rare->rows == 2);
    CHECK(seen->rare->found == 1);
    CHECK(*seen->area == 0.5);
    CHECK(seen->pairs == 4);
  }
}

TEST_CASE("A class is rare with less than a fifth of the rows that each would have") {
  CHECK(rare_class({90, 9}) == 1);
  CHECK_FALSE(rare_class({90, 10}));
  CHECK(rare_class({100, 5, 100}) == 1);
  CHECK_FALSE(rare_class({}));
  CHECK_FALSE(rare_class({5}));
}

TEST_CASE("Surveys count the rows of each class and a merger adds them") {
  const Folder folder("rows");
  const auto told = [&](std::size_t rows, std::size_t every, std::size_t suppress = 0) {
    DataOptions options = site_options(folder.write("a.csv", table_of(rows, every)));
    options.suppress_below = suppress;
    return value_of(decode_survey(node_of({.kind = ModelKind::softmax}, options)->survey()));
  };
  const Survey one = told(100, 10), other = told(50, 5);
  CHECK(one.class_rows == std::vector<double>{90, 10});
  CHECK(value_of(merge(std::vector{one, other})).class_rows == std::vector<double>{130, 20});
  CHECK(told(100, 10, 11).class_rows == std::vector<double>{90});
  CHECK(value_of(merge(std::vector{told(100, 10, 11), other})).class_rows ==
        std::vector<double>{130, 10});
  Survey earlier = other;  // of a version that does not count
  earlier.class_rows.clear();
  CHECK(value_of(merge(std::vector{one, earlier})).class_rows.empty());
}

TEST_CASE("An evaluation has the area and the recall of a rare class") {
  const Folder folder("rare");
  DataOptions options = site_options(folder.write("a.csv", table_of(300, 20)));
  options.holdout = 0.3;
  const Node node = node_of({.kind = ModelKind::softmax}, options);
  REQUIRE(node->found(std::vector{node->survey()}));
  std::vector<double> x(node->dimension());
  x[1] = 3;  // of x for yes
  const optim::Evaluation seen = node->evaluate(x, 0);
  REQUIRE(seen.rare);
  CHECK(seen.rare->name == "yes");
  CHECK(seen.rare->rows > 0);
  CHECK(*seen.area > 0.7);
  CHECK(seen.pairs == static_cast<double>(seen.rare->rows * (seen.samples - seen.rare->rows)));
}

TEST_CASE("A node knows how good a model of its own rows alone is on its held-out rows") {
  const Folder folder("alone");
  DataOptions options = site_options(folder.write("a.csv", table_of(300, 4)));
  CHECK_FALSE(node_of({.kind = ModelKind::softmax}, options)->describe().preparation.alone);
  options.holdout = 0.3;
  for (const ModelKind kind : {ModelKind::softmax, ModelKind::logistic, ModelKind::mlp}) {
    const auto alone = node_of({.kind = kind, .l2 = 0.001}, options)->describe().preparation.alone;
    REQUIRE(alone);
    CHECK(*alone->area > 0.7);
    CHECK(*alone->accuracy > 0.7);
  }
  ModelOptions eager{.kind = ModelKind::softmax, .l2 = 0.001};
  eager.class_weights.named = {{"yes", 1000}};
  CHECK(*node_of(eager, options)->describe().preparation.alone->accuracy < 0.7);
  std::string line = "x,y\n";
  for (int i = 0; i < 300; ++i) line += fmt::format("{},{}\n", i, 3 * i + i % 3);
  options.path = folder.write("b.csv", line);
  const auto alone = node_of({.kind = ModelKind::linear, .l2 = std::nullopt}, options)
                         ->describe()
                         .preparation.alone;
  REQUIRE(alone);
  CHECK(*alone->rmse < 5);
}

TEST_CASE("Weights of classes are named or balanced and mistakes say what is allowed") {
  CHECK(value_of(parse_class_weights({})).is_set() == false);
  CHECK(to_string(value_of(parse_class_weights(words("yes:10,no:1")))) == "no:1,yes:10");
  CHECK(value_of(parse_class_weights(words("a:b:2"))).named.front().first == "a:b");
  CHECK(to_string(value_of(parse_class_weights(words("balanced")))) == "balanced");
  for (const char* wrong : {"yes", "yes:", "yes:0", "yes:-1", ":3", "balanced,yes:1", "a:1,a:2"})
    CHECK_FALSE(parse_class_weights(words(wrong)));
  Survey table;
  table.target = "y";
  table.classifies = true;
  table.classes = {"no", "yes"};
  table.class_rows = {90, 10};
  const auto weights = [&](const std::string& text) {
    return weights_of(value_of(parse_class_weights(words(text))), table);
  };
  CHECK(value_of(weights("balanced")) == std::vector<double>{50.0 / 90, 5});
  CHECK(value_of(weights("yes:10")) == std::vector<double>{1, 10});
  CHECK(weights("maybe:10").error().text ==
        "model.class-weight = maybe:10: target y has no class maybe; expected no, yes");
  table.class_rows.clear();
  CHECK_FALSE(weights("balanced"));
  table.classifies = false;
  CHECK_FALSE(weights("yes:10"));
}

TEST_CASE("A weight of a class counts its rows as often") {
  const std::int32_t labels[] = {0, 1, 0};
  const double weights[] = {1, 3};
  for (const Loss loss : {Loss::logistic, Loss::cross_entropy}) {
    const std::size_t columns = loss == Loss::logistic ? 1 : 2;
    std::vector<double> z{0.5, -1, 0.25, 2, 0.1, -0.3};
    z.resize(3 * columns);
    std::vector<double> plain = z, weighted = z;
    take_loss<double>(loss, {3, columns}, {.labels = labels}, 1, plain.data());
    const Score all = take_loss<double>(loss, {3, columns}, {.labels = labels, .weights = weights},
                                        1, weighted.data());
    double sum = 0;
    for (std::size_t r = 0; r < 3; ++r) {
      std::vector<double> row(z.begin() + static_cast<std::ptrdiff_t>(r * columns),
                              z.begin() + static_cast<std::ptrdiff_t>((r + 1) * columns));
      sum += weights[labels[r]] *
             take_loss<double>(loss, {1, columns}, {.labels = labels + r}, 1, row.data()).loss;
      for (std::size_t c = 0; c < columns; ++c)
        CHECK(weighted[r * columns + c] ==
              doctest::Approx(weights[labels[r]] * plain[r * columns + c]));
    }
    CHECK(all.loss == doctest::Approx(sum));
  }
}

TEST_CASE("Only the classes of a table have weights") {
  ModelOptions model{.kind = ModelKind::softmax};
  model.class_weights.are_balanced = true;
  const DataOptions digits{.samples = 100};
  const auto refused = make_objective<double>(model, digits, load_shared(digits));
  REQUIRE(!refused);
  CHECK(refused.error().text.starts_with("model.class-weight = balanced: only the classes of a"));
}
