#include "optim/local/local_optimizer.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "optim/learning_rate.h"
#include "optim/vector/kernels.h"

using namespace starling;
using namespace starling::optim;

namespace {

std::unique_ptr<LocalOptimizer<double>> optimizer_of(LocalOptimizerKind kind,
                                                     double beta2 = 0.999) {
  Options options;
  options.local_optimizer = kind;
  options.adam_beta2 = beta2;
  return make_local_optimizer<double>(options, 1);
}

// u after each of three steps with the gradients 1, 2, -1 and learning rate 0.1.
std::vector<double> steps(LocalOptimizerKind kind, double beta2) {
  const auto optimizer = optimizer_of(kind, beta2);
  std::vector<double> taken;
  for (double gradient : {1.0, 2.0, -1.0}) {
    std::array<double, 1> g{gradient};
    optimizer->step(g, 0.1);
    taken.push_back(g[0]);
  }
  return taken;
}

void check_steps(LocalOptimizerKind kind, const std::vector<double>& expected,
                 double beta2 = 0.999) {
  const auto taken = steps(kind, beta2);
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(taken[i] == doctest::Approx(expected[i]).epsilon(1e-7));
}

double factor_at(std::string_view schedule, std::uint64_t round) {
  return factor(*parse_schedule(schedule), round);
}

}  // namespace

TEST_CASE("Local optimizers take the steps of their definitions") {
  check_steps(LocalOptimizerKind::sgd, {-0.1, -0.2, 0.1});
  // m = 1, 2.9, 1.61
  check_steps(LocalOptimizerKind::momentum, {-0.1, -0.29, -0.161});
  check_steps(LocalOptimizerKind::nesterov, {-0.19, -0.461, -0.0449});
  // m = .1, .29, .161; v = .001, .004999, .005994001; corrected by 1 - .9^t and 1 - .999^t
  const double first = -0.1 * 1.0 / (1.0 + 1e-8);
  const double second = -0.1 * (0.29 / 0.19) / (std::sqrt(0.004999 / 0.001999) + 1e-8);
  const double third = -0.1 * (0.161 / 0.271) / (std::sqrt(0.005994001 / 0.002997001) + 1e-8);
  check_steps(LocalOptimizerKind::adam, {first, second, third});
  check_steps(LocalOptimizerKind::adamw, {first, second, third});
  // With beta2 = .5: v = .5, 2.25, 1.625, corrected by 1 - .5^t.
  check_steps(LocalOptimizerKind::adam,
              {-0.1, -0.1 * (0.29 / 0.19) / std::sqrt(2.25 / 0.75),
               -0.1 * (0.161 / 0.271) / std::sqrt(1.625 / 0.875)},
              0.5);
}

TEST_CASE("A reset optimizer takes its first step again") {
  for (auto kind : {LocalOptimizerKind::momentum, LocalOptimizerKind::adam}) {
    const auto optimizer = optimizer_of(kind);
    std::array<double, 1> first{1.0}, second{1.0};
    optimizer->step(first, 0.1);
    optimizer->reset();
    optimizer->step(second, 0.1);
    CHECK(first == second);
  }
}

TEST_CASE("Learning rates follow their schedules") {
  CHECK(factor_at("constant", 1000) == 1);
  CHECK(factor_at("step:10:0.5", 10) == 1);
  CHECK(factor_at("step:10:0.5", 11) == 0.5);
  CHECK(factor_at("step:10:0.5", 31) == 0.125);
  CHECK(factor_at("cosine:100", 1) == 1);
  CHECK(factor_at("cosine:100", 51) == doctest::Approx(0.5));
  CHECK(factor_at("cosine:100", 500) == doctest::Approx(0));
  CHECK(factor_at("inverse:10", 11) == 0.5);
  CHECK(factor_at("warmup:10", 1) == doctest::Approx(0.1));
  CHECK(factor_at("warmup:10", 50) == 1);
}

TEST_CASE("Schedules that make no sense are refused") {
  for (const char* text : {"", "step", "step:10", "step:0:0.5", "step:10:2", "cosine", "cosine:x",
                           "inverse:10:1", "sometimes:3", "constant:1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_schedule(text).has_value());
  }
}

TEST_CASE("A sketch keeps distances about as they are") {
  std::vector<double> x(20'000), y(20'000);
  Prng prng(5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = prng.normal();
    y[i] = x[i] + 0.01 * prng.normal();
  }
  std::array<double, kSketchSize> a{}, b{};
  sketch(std::span<const double>(x), a);
  sketch(std::span<const double>(y), b);
  const double seen = std::sqrt(squared_distance(std::span<const double>(a), b));
  CHECK(seen ==
        doctest::Approx(std::sqrt(squared_distance(std::span<const double>(x), y))).epsilon(0.35));
}
