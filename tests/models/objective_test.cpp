#include "optim/local/objective.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/models/every_model.h"

using namespace starling;
using namespace starling::models;

namespace {

// Central differences along the coordinates that matter most and a few others, against the
// gradient; on a batch with a repeated sample, and on all samples.
void check_gradient(optim::Objective<double>& objective) {
  std::vector<double> x = random_point(objective.dimension());
  std::vector<double> gradient(x.size());
  std::vector<double> unused(x.size());
  for (const std::vector<std::uint32_t>& batch : {std::vector<std::uint32_t>{0, 3, 3, 5}, {}}) {
    std::ranges::fill(gradient, 1e9);  // it is overwritten
    objective.loss_and_gradient(x, batch, gradient);
    Prng prng(2);
    for (int trial = 0; trial < 25; ++trial) {
      const std::size_t i = trial == 0 ? x.size() - 1 : prng.below(x.size());
      constexpr double kStep = 1e-5;
      const double before = x[i];
      x[i] = before + kStep;
      const double above = objective.loss_and_gradient(x, batch, unused);
      x[i] = before - kStep;
      const double below = objective.loss_and_gradient(x, batch, unused);
      x[i] = before;
      CHECK(gradient[i] == doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-5).scale(1));
    }
  }
}

void check_float_agrees(optim::Objective<double>& exact, optim::Objective<float>& rough) {
  REQUIRE(exact.dimension() == rough.dimension());
  const std::vector<double> x = random_point(exact.dimension());
  const std::vector<float> y(x.begin(), x.end());
  std::vector<double> gradient(x.size());
  std::vector<float> rough_gradient(x.size());
  const double loss = exact.loss_and_gradient(x, {}, gradient);
  CHECK(rough.loss_and_gradient(y, {}, rough_gradient) == doctest::Approx(loss).epsilon(1e-4));
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(gradient[i] - static_cast<double>(rough_gradient[i]), 2);
    norm += gradient[i] * gradient[i];
  }
  CHECK(std::sqrt(error / norm) < 1e-3);
  const optim::Evaluation whole = exact.evaluate(x, 0), some = exact.evaluate(x, 3);
  CHECK(rough.evaluate(y, 0).loss == doctest::Approx(whole.loss).epsilon(1e-3));
  CHECK(whole.is_whole());
  CHECK(some.samples == 3);
  CHECK(some.available == whole.samples);
}

}  // namespace

TEST_CASE("Every gradient agrees with finite differences and float with double") {
  for_every_model("gradients", [](const Case& each, optim::Objective<double>& exact) {
    const Owned<float> rough = in_float(each);
    check_gradient(exact);
    check_float_agrees(exact, *rough);
    CHECK(exact.describe().schema != rough->describe().schema);
  });
}

TEST_CASE("The blocks of a model lie behind each other and hold all its parameters") {
  for_every_model("blocks", [](const Case&, optim::Objective<double>& objective) {
    std::set<std::string> names;
    std::size_t offset = 0;
    for (const optim::ParameterBlock& block : objective.blocks()) {
      CHECK(names.insert(block.name).second);
      CHECK(block.offset == offset);
      CHECK(block.size() > 0);
      offset += block.size();
    }
    CHECK(offset == objective.dimension());
    // A gradient fills exactly that many numbers.
    std::vector<double> x = random_point(offset), gradient(offset + 1, 1e9);
    objective.loss_and_gradient(x, {}, std::span(gradient).first(offset));
    CHECK(std::ranges::count(gradient, 1e9) == 1);
  });
}

TEST_CASE("A closed form is where the gradient with its extra terms vanishes") {
  std::size_t count = 0;
  for_every_model("closed-forms", [&](const Case& each, optim::Objective<double>& objective) {
    constexpr double kMu = 0.7;
    const std::vector<double> c = random_point(objective.dimension());
    std::vector<double> x(c.size(), 5), gradient(c.size());
    const bool is_solved = objective.minimize(c, kMu, x);
    CHECK(is_solved == (each.model.kind == ModelKind::linear));
    if (!is_solved) {
      CHECK(x == std::vector<double>(c.size(), 5));
      return;
    }
    ++count;
    objective.loss_and_gradient(x, {}, gradient);
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK(gradient[k] + c[k] + kMu * x[k] == doctest::Approx(0).scale(1).epsilon(1e-9));
  });
  CHECK(count == 3);
}

TEST_CASE("A closed form that is not unique is none") {
  // Two columns are the same: nothing says which weight is whose.
  const Folder folder("closed-form-not-unique");
  DataOptions csv{.source = Source::csv,
                  .path = folder.write("a.csv", "a,b,y\n1,1,1\n2,2,3\n3,3,3\n")};
  csv.target = "y";
  csv.task = Task::regression;
  csv.holdout = 0;
  const auto objective =
      make<double>({.kind = ModelKind::linear}, csv, load_shared(csv), shard_of(1, 0));
  std::vector<double> x(objective->dimension(), 5);
  CHECK_FALSE(objective->minimize(std::vector<double>(x.size()), 0, x));
  CHECK(x == std::vector<double>(x.size(), 5));
  CHECK(objective->minimize(std::vector<double>(x.size()), 0.1, x));
}

TEST_CASE("Blocks of a large batch add up to its mean") {
  const DataOptions options{.source = Source::houses, .samples = 1000};
  const auto all = make<double>({}, options, load_shared(options), shard_of(1, 0));
  const std::vector<double> x = random_point(all->dimension());
  std::vector<double> whole(x.size());
  std::vector<double> part(x.size());
  std::vector<double> sum(x.size());
  double loss = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    loss += all->loss_and_gradient(x, std::vector{i}, part) / 1000;
    for (std::size_t k = 0; k < x.size(); ++k) sum[k] += part[k] / 1000;
  }
  CHECK(all->loss_and_gradient(x, {}, whole) == doctest::Approx(loss));
  for (std::size_t k = 0; k < x.size(); ++k) CHECK(whole[k] == doctest::Approx(sum[k]));
}

TEST_CASE("The same seed gives the same start and another seed another") {
  const DataOptions options{.source = Source::digits, .samples = 20};
  const auto objective = make<float>({}, options, load_shared(options), shard_of(1, 0));
  std::vector<float> a(objective->dimension());
  std::vector<float> b(a.size());
  objective->initialize(a, 1);
  objective->initialize(b, 1);
  CHECK(a == b);
  objective->initialize(b, 2);
  CHECK(a != b);
}

TEST_CASE("The reference problem has its known numbers") {
  CHECK(reference_uniform(1000, 0) == doctest::Approx(0.7353710165340428).epsilon(1e-15));
  CHECK(reference_uniform(1000, 1) == doctest::Approx(-0.3300947783334).epsilon(1e-12));
  CHECK(reference_uniform(42, 0) == doctest::Approx(0.83129536441751).epsilon(1e-13));
  const DataOptions options{.source = Source::reference};
  const auto data = load_shared(options);
  double minimum = 0;
  std::vector<double> best;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto node = make<double>({}, options, data, shard_of(16, i));
    REQUIRE(node->dimension() == 10);
    REQUIRE(node->samples() == 20);
    best.assign(node->describe().optimum.begin(), node->describe().optimum.end());
    std::vector<double> gradient(10);
    minimum += node->loss_and_gradient(best, {}, gradient) / 16;
  }
  double square = 0;
  for (const double value : best) square += value * value;
  CHECK(std::sqrt(square) == doctest::Approx(1.91677854441).epsilon(1e-11));
  CHECK(minimum == doctest::Approx(0.62519065284).epsilon(1e-10));
}

TEST_CASE("One D-PSGD step on a ring of the reference problem has its known error") {
  const DataOptions options{.source = Source::reference};
  const auto data = load_shared(options);
  std::vector<std::vector<double>> x(16, std::vector<double>(10));
  std::vector<double> best;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto node = make<double>({}, options, data, shard_of(16, i));
    best.assign(node->describe().optimum.begin(), node->describe().optimum.end());
    node->loss_and_gradient(std::vector<double>(10), {}, x[i]);
  }
  double square = 0;
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t c = 0; c < 10; ++c) {
      const double mixed = (x[(i + 15) % 16][c] + x[i][c] + x[(i + 1) % 16][c]) / 3;
      square += std::pow(-0.1 * mixed - best[c], 2);
    }
  CHECK(std::sqrt(square / 16) == doctest::Approx(1.855937474).epsilon(1e-9));
}

TEST_CASE("The gradients of all nodes cancel at the optimum also on unequal shards") {
  DataOptions options{.source = Source::houses, .samples = 500};
  const auto data = load_shared(options);
  for (const auto kind :
       {Partition::Kind::iid, Partition::Kind::by_label, Partition::Kind::dirichlet}) {
    options.partition = {.kind = kind, .alpha = 0.3};
    std::vector<double> sum(9);
    for (std::size_t i = 0; i < 7; ++i) {
      const auto node = make<double>({.l2 = 0.05}, options, data, shard_of(7, i));
      std::vector<double> gradient(9);
      node->loss_and_gradient(node->describe().optimum, {}, gradient);
      for (std::size_t k = 0; k < 9; ++k) sum[k] += gradient[k];
    }
    for (const double value : sum) CHECK(std::abs(value) < 1e-12);
  }
}

TEST_CASE("The optimum is that of the loss with the weight decay that every step adds") {
  const DataOptions options{.source = Source::houses, .samples = 500};
  const auto data = load_shared(options);
  const double decay = 0.2;
  std::vector<double> sum(9);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto node =
        make<double>({.l2 = 0.05, .weight_decay = decay}, options, data, shard_of(7, i));
    std::vector<double> gradient(9);
    const std::span<const double> best = node->describe().optimum;
    node->loss_and_gradient(best, {}, gradient);
    for (std::size_t k = 0; k < 9; ++k) sum[k] += gradient[k] + decay * best[k];
  }
  for (const double value : sum) CHECK(std::abs(value) < 1e-12);
}

TEST_CASE("Surveys of all nodes give every node the same features") {
  const Folder folder("found");
  DataOptions options{.source = Source::csv, .path = folder.write("a.csv", kTable)};
  options.target = "price";
  const auto data = load_shared(options);
  std::vector<Owned<double>> nodes;
  std::vector<std::string> surveys;
  for (std::size_t i = 0; i < 3; ++i) {
    nodes.push_back(value_of(make_objective<double>({}, options, data)));
    nodes.back()->assign(shard_of(3, i));
    CHECK(nodes.back()->dimension() == 0);
    surveys.push_back(nodes.back()->survey());
  }
  auto damaged = surveys;
  damaged[1].pop_back();
  for (auto& node : nodes) {
    CHECK_FALSE(node->found(damaged));
    CHECK(node->dimension() == 0);
    CHECK(node->found(surveys));
    CHECK_FALSE(node->foundation().empty());
    CHECK(node->describe().schema == nodes.front()->describe().schema);
    CHECK(node->dimension() == nodes.front()->dimension());
  }
  const auto alone = make<double>({}, options, data, shard_of(3, 0));
  CHECK(alone->describe().schema != nodes.front()->describe().schema);
}

TEST_CASE("Models that do not fit the data are refused with what is allowed") {
  const DataOptions digits{.source = Source::digits, .samples = 20};
  const auto images = load_shared(digits);
  const auto logistic = make_objective<float>({.kind = ModelKind::logistic}, digits, images);
  REQUIRE(!logistic);
  CHECK(logistic.error().text ==
        "model.kind = logistic does not fit data.source = digits, which has 10 classes; expected "
        "auto, mlp, softmax, net");
  CHECK_FALSE(make_objective<float>({.kind = ModelKind::linear}, digits, images));
  const DataOptions houses{.source = Source::houses, .samples = 20};
  CHECK_FALSE(make_objective<float>({.kind = ModelKind::softmax}, houses, load_shared(houses)));
  const ModelOptions huge{.kind = ModelKind::mlp, .hidden = {65'536, 65'536, 65'536}};
  CHECK_FALSE(make_objective<float>(huge, digits, images));
}
