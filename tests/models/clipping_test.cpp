#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/models/every_model.h"

using namespace starling;
using namespace starling::models;

namespace {

double norm_of(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

// By the gradients of single samples, each clipped by itself.
std::vector<double> clipped_one_by_one(optim::Objective<double>& objective,
                                       const std::vector<double>& x,
                                       const std::vector<std::uint32_t>& batch, double bound) {
  std::vector<double> sum(x.size()), one(x.size());
  for (const std::uint32_t sample : batch) {
    objective.loss_and_gradient(x, std::vector{sample}, one);
    const double factor = std::min(1.0, bound / norm_of(one));
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += factor * one[i];
  }
  return sum;
}

template <class S>
double distance(const std::vector<S>& x, const std::vector<double>& y) {
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    squares += std::pow(static_cast<double>(x[i]) - y[i], 2);
  return std::sqrt(squares);
}

// The bound that about half of the samples exceed.
double middle_norm(optim::Objective<double>& objective, const std::vector<double>& x) {
  std::vector<double> norms, one(x.size());
  for (std::uint32_t sample = 0; sample < std::min<std::size_t>(objective.samples(), 40);
       ++sample) {
    objective.loss_and_gradient(x, std::vector{sample}, one);
    norms.push_back(norm_of(one));
  }
  std::ranges::nth_element(norms, norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2));
  return norms[norms.size() / 2] * 1.001;
}

std::vector<std::uint32_t> some_of(std::size_t samples) {
  std::vector<std::uint32_t> batch;
  for (std::uint32_t sample = 0; sample < std::min<std::size_t>(samples, 300); sample += 1)
    if (sample != 1) batch.push_back(sample);
  return batch;
}

void check_clipping(optim::Objective<double>& exact, optim::Objective<float>& rough) {
  const std::vector<double> x = random_point(exact.dimension());
  const std::vector<float> y(x.begin(), x.end());
  const double bound = middle_norm(exact, x);
  const std::vector<std::uint32_t> batch = some_of(exact.samples());
  const std::vector<double> expected = clipped_one_by_one(exact, x, batch, bound);
  REQUIRE(norm_of(expected) > 0);
  std::vector<double> sum(x.size(), 1e9);
  const optim::Clip clip{.bound = bound, .divisor = 1};
  CHECK(exact.clipped_gradient(x, batch, clip, sum) == doctest::Approx(bound));
  CHECK(distance(sum, expected) < 1e-9 * norm_of(expected));
  std::vector<float> rough_sum(x.size(), 1e9F);
  rough.clipped_gradient(y, batch, clip, rough_sum);
  CHECK(distance(rough_sum, expected) < 1e-3 * norm_of(expected));
}

}  // namespace

TEST_CASE("Clipped gradients of every model add up to those of its single samples") {
  const auto check = [](const Case& each, optim::Objective<double>& exact) {
    check_clipping(exact, *in_float(each));
  };
  for_every_model("clipping", check, 0);
}

TEST_CASE("No sample moves a clipped gradient by more than the bound") {
  for_every_model("sensitivity", [](const Case&, optim::Objective<double>& objective) {
    const std::vector<double> x = random_point(objective.dimension());
    const optim::Clip clip{.bound = 1e-3, .divisor = 7};
    std::vector<double> with(x.size()), without(x.size());
    const double most =
        objective.clipped_gradient(x, std::vector<std::uint32_t>{0, 2, 3}, clip, with);
    objective.clipped_gradient(x, std::vector<std::uint32_t>{0, 3}, clip, without);
    CHECK(most == doctest::Approx(1e-3 / 7));
    CHECK(distance(with, without) <= most * (1 + 1e-9));
    CHECK(distance(with, without) >= most * (1 - 1e-6));
  });
}

TEST_CASE("A wide bound clips nothing and terms that all samples share are added once") {
  const auto check = [](const Case&, optim::Objective<double>& objective) {
    const std::vector<double> x = random_point(objective.dimension());
    std::vector<double> plain(x.size()), clipped(x.size());
    const std::vector<std::uint32_t> batch{0, 2, 3};
    objective.loss_and_gradient(x, batch, plain);
    objective.clipped_gradient(x, batch, {.bound = 1e9, .divisor = 3}, clipped);
    CHECK(distance(clipped, plain) < 1e-9 * norm_of(plain));
  };
  for_every_model("wide", check, 0.2);
}

TEST_CASE("A batch without a sample has the gradient of the shared terms alone") {
  const auto check = [](const Case&, optim::Objective<double>& objective) {
    std::vector<double> gradient(objective.dimension(), 5);
    CHECK(objective.clipped_gradient(random_point(gradient.size()), {},
                                     {.bound = 0.5, .divisor = 10},
                                     gradient) == doctest::Approx(0.05));
    CHECK(norm_of(gradient) == 0);
  };
  for_every_model("empty", check, 0);
}

TEST_CASE("A site that weighs more may move its gradient by more") {
  const Folder folder("weights");
  DataOptions data{.source = Source::csv, .path = folder.write("a.csv", kTable)};
  data.target = "price";
  data.holdout = 0;
  data.weight = Weight::samples;
  const auto objective =
      value_of(make_objective<double>({.kind = ModelKind::linear}, data, load_shared(data)));
  objective->assign(shard_of(1, 0));
  const std::string survey = objective->survey();
  std::string smaller = survey;
  smaller[0] = '1';  // of its 7 samples
  REQUIRE(objective->found(std::vector<std::string>{survey, smaller}));
  std::vector<double> gradient(objective->dimension());
  CHECK(objective->clipped_gradient(random_point(gradient.size()), std::vector<std::uint32_t>{0},
                                    {.bound = 2, .divisor = 1},
                                    gradient) == doctest::Approx(2 * 7.0 / 4));
}
