// model.l2 = auto: what founders find on their own rows, and the one number that follows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/data/penalty_trial.h"
#include "models/linear/lbfgs.h"
#include "models/nets/model_card.h"
#include "models/nets/own_fit.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

using Excess = decltype(PenaltyTrial::excess);

// Of many words that tell nothing and one number that does; a table of `rows` rows.
std::string noisy_table(std::size_t rows, std::uint64_t seed) {
  Prng prng(seed);
  std::string text = "x,code,y\n";
  for (std::size_t r = 0; r < rows; ++r) {
    const double x = prng.normal();
    const bool yes = prng.uniform() < 1 / (1 + std::exp(2 - x));
    text += fmt::format("{:.3f},c{},{}\n", x, prng.below(20), yes ? "yes" : "no");
  }
  return text;
}

const ModelOptions kAuto{.kind = ModelKind::softmax, .l2 = std::nullopt};

using Node = std::unique_ptr<optim::Objective<double>>;

std::vector<Node> nodes_of(const Folder& folder, const ModelOptions& model,
                           const std::vector<std::size_t>& rows,
                           const std::function<void(DataOptions&)>& change = {}) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    DataOptions options =
        site_options(folder.write(fmt::format("{}.csv", i), noisy_table(rows[i], i)));
    if (change) change(options);
    nodes.push_back(value_of(make_objective<double>(model, options, load_shared(options))));
    nodes.back()->assign(shard_of(rows.size(), i));
  }
  return nodes;
}

std::vector<std::string> surveys_of(const std::vector<Node>& nodes) {
  std::vector<std::string> surveys;
  for (const Node& node : nodes) surveys.push_back(node->survey());
  return surveys;
}

std::optional<PenaltyTrial> trial_of(const Node& node) {
  return value_of(decode_survey(node->survey())).trial;
}

}  // namespace

TEST_CASE("lbfgs finds the minimum of a quadratic of very different curvatures") {
  const std::vector<double> curvature{1, 1e-3, 50, 3, 1e-2};
  std::vector<double> x(curvature.size());
  lbfgs(
      [&](std::span<const double> at, std::span<double> gradient) {
        double value = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
          const double error = at[i] - static_cast<double>(i);
          value += curvature[i] / 2 * error * error;
          gradient[i] = curvature[i] * error;
        }
        return value;
      },
      {.iterations_limit = 100, .tolerance = 1e-9}, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(x[i] == doctest::Approx(static_cast<double>(i)).epsilon(1e-4));
}

TEST_CASE("The strength of least excess is chosen and of equals the largest") {
  const PenaltyTrial::Strengths& all = PenaltyTrial::kForClasses;
  CHECK(PenaltyTrial{}.best(all) == 1);
  CHECK(PenaltyTrial{.rows = 9, .excess = {3, 0, 1, 2, 4}}.best(all) == 3);
  CHECK(PenaltyTrial{.rows = 9, .excess = {3, 0, 0, 2, 4}}.best(all) == 10);
  PenaltyTrial sum{.rows = 9, .excess = {3, 0, 1, 2, 4}};
  sum.merge({.rows = 1, .excess = {9, 9, 1, 0, 9}});
  CHECK(sum == PenaltyTrial{.rows = 10, .excess = {12, 9, 2, 2, 13}});
  CHECK(sum.best(all) == 30);
}

TEST_CASE("One founder's lie about its trial does not choose the strength for all") {
  const PenaltyTrial honest{.rows = 100, .excess = {8, 3, 0, 2, 6}};
  for (const PenaltyTrial& lie : {PenaltyTrial{.rows = 1e12, .excess = {0, 1e99, 1e99, 1e99, 1e99}},
                                  PenaltyTrial{.rows = 100, .excess = {1e99, 1e99, 1e99, 1e99, 0}},
                                  PenaltyTrial{.rows = 1, .excess = {0, 0, 1e90, 0, 0}}}) {
    std::vector<PenaltyTrial> told{honest, lie, honest, honest};
    std::vector<PenaltyTrial*> all;
    for (PenaltyTrial& one : told) all.push_back(&one);
    lessen_implausible(all);
    CHECK(told[0] == honest);
    PenaltyTrial sum;
    for (const PenaltyTrial& one : told) sum.merge(one);
    CHECK(sum.best(PenaltyTrial::kForClasses) == 10);
  }
}

TEST_CASE("Words that tell nothing ask for a stronger penalty than a number that does") {
  const Folder folder("trial");
  const auto best = [&](const std::string& text, const ModelOptions& model = kAuto) {
    const DataOptions options = site_options(folder.write("a.csv", text));
    const auto data = load_shared(options);
    std::vector<std::uint32_t> rows(data->train.rows);
    std::iota(rows.begin(), rows.end(), 0U);
    const auto trial = fit_own_rows(model, options, data->train, rows, data->test).trial;
    REQUIRE(trial);
    CHECK(trial->rows == static_cast<double>(rows.size()));
    CHECK(std::ranges::min(trial->excess) == 0);
    return trial->best(PenaltyTrial::strengths(data->train.classes > 0));
  };
  CHECK(best(noisy_table(400, 1)) >= 10);
  // Beside a loss that counts little the least penalty is strong.
  ModelOptions weighted = kAuto;
  weighted.class_weights.named = {{"absent", 1}, {"no", 0.01}, {"yes", 0.01}};
  CHECK(best(noisy_table(400, 1), weighted) == 1);
  std::string line = "x,y\n";
  for (int i = 0; i < 400; ++i) line += fmt::format("{},{}\n", i, 3 * i + (i % 3));
  CHECK(best(line) == 0.001);
}

TEST_CASE("All founders find one l2 from the surveys of all and a newcomer finds it too") {
  const Folder folder("founders");
  const std::vector<Node> nodes = nodes_of(folder, kAuto, {300, 120, 80});
  const auto surveys = surveys_of(nodes);
  for (const Node& node : nodes) REQUIRE(node->found(surveys));
  const optim::Preparation found = nodes[0]->describe().preparation;
  REQUIRE(found.l2);
  CHECK(*found.l2 >= 1.0 / 500);
  CHECK(*found.l2 <= 100.0 / 500);
  CHECK(found.l2_reason.find(" / 500 rows, of 1, 3, 10, 30, 100 / rows the one with the least "
                             "loss on 500 rows") != std::string::npos);
  const std::vector<Node> late = nodes_of(folder, kAuto, {50});
  REQUIRE(late[0]->found(std::vector{nodes[1]->foundation()}));
  for (const Node* node : {&nodes[1], &nodes[2], &late[0]}) {
    CHECK((*node)->describe().preparation.l2 == found.l2);
    CHECK((*node)->describe().schema == nodes[0]->describe().schema);
  }
}

TEST_CASE("The l2 that was found is a term of the loss") {
  const Folder folder("term");
  const std::vector<Node> nodes = nodes_of(folder, kAuto, {200});
  REQUIRE(nodes[0]->found(surveys_of(nodes)));
  ModelOptions given = kAuto;
  given.l2 = nodes[0]->describe().preparation.l2;
  const std::vector<Node> same = nodes_of(folder, given, {200});
  REQUIRE(same[0]->found(surveys_of(same)));
  const std::vector<double> x(nodes[0]->dimension(), 0.5);
  std::vector<double> one(x.size()), other(x.size());
  CHECK(nodes[0]->loss_and_gradient(x, {}, one) == same[0]->loss_and_gradient(x, {}, other));
  CHECK(one == other);
}

TEST_CASE("A trial is told only where it tells of enough rows and no noise hides them") {
  const Folder folder("told");
  CHECK(trial_of(nodes_of(folder, kAuto, {100})[0]));
  CHECK_FALSE(trial_of(nodes_of(folder, kAuto, {20})[0]));
  const auto suppress = [](DataOptions& options) { options.suppress_below = 101; };
  CHECK_FALSE(trial_of(nodes_of(folder, kAuto, {100}, suppress)[0]));
  ModelOptions noisy = kAuto, given = kAuto;
  noisy.is_private = true;
  given.l2 = 0.1;
  CHECK_FALSE(trial_of(nodes_of(folder, noisy, {100})[0]));
  CHECK_FALSE(trial_of(nodes_of(folder, given, {100})[0]));
}

TEST_CASE("Without a trial auto is the default of scikit-learn") {
  const Folder folder("untold");
  ModelOptions noisy = kAuto;
  noisy.is_private = true;
  const std::vector<Node> nodes = nodes_of(folder, noisy, {100});
  REQUIRE(nodes[0]->found(surveys_of(nodes)));
  CHECK(nodes[0]->describe().preparation.l2 == 0.01);
  CHECK(nodes[0]->describe().preparation.l2_reason ==
        "1 / 100 rows, because no founder told which strength suits its rows");
}

TEST_CASE("A trial survives the text form of a survey and damage to it is refused") {
  const Folder folder("text");
  Survey survey = value_of(decode_survey(nodes_of(folder, kAuto, {100})[0]->survey()));
  CHECK(value_of(decode_survey(encode(survey))).trial == survey.trial);
  survey.trial->excess[2] = -1;
  CHECK_FALSE(decode_survey(encode(survey)));
  survey.trial->excess[2] = INFINITY;
  CHECK_FALSE(decode_survey(encode(survey)));
}
