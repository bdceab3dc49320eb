#include "optim/privacy/accountant.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <vector>

using namespace starling::optim;

namespace {

// log(A) / (alpha - 1) of the header by the trapezoid rule over z in [-40 sigma, 40 sigma + alpha],
// in logarithms.
double integrated_divergence(const SampledGaussian& step, double order) {
  constexpr int kPoints = 400'000;
  const double q = step.rate, sigma = step.noise;
  const double low = -40 * sigma, high = 40 * sigma + order, width = (high - low) / kPoints;
  std::vector<double> logs;
  for (int k = 0; k <= kPoints; ++k) {
    const double z = low + k * width;
    const double ratio = (2 * z - 1) / (2 * sigma * sigma);
    const double base = ratio > 700 ? std::log(q) + ratio : std::log1p(q * std::expm1(ratio));
    logs.push_back(order * base - z * z / (2 * sigma * sigma));
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double value : logs) sum += std::exp(value - largest);
  const double norm = width / (sigma * std::sqrt(2 * std::numbers::pi));
  return (largest + std::log(sum * norm)) / (order - 1);
}

double epsilon_of(const SampledGaussian& step, std::uint64_t steps, double delta) {
  return epsilon(renyi_curve(step), steps, delta);
}

// The conversion that was in use before 2020: epsilon = T rho + log(1 / delta) / (alpha - 1).
double earlier_epsilon(const SampledGaussian& step, double steps, double delta) {
  double least = std::numeric_limits<double>::infinity();
  for (const double order : renyi_orders())
    least = std::min(least, steps * renyi_divergence(step, order) - std::log(delta) / (order - 1));
  return least;
}

}  // namespace

TEST_CASE("Without sampling the divergence is that of two Gaussians") {
  for (const double sigma : {0.3, 1.0, 7.5})
    for (const double order : renyi_orders())
      CHECK(renyi_divergence({.rate = 1, .noise = sigma}, order) ==
            doctest::Approx(order / (2 * sigma * sigma)));
}

TEST_CASE("The divergence of a sampled Gaussian is its integral at orders of every kind") {
  for (const double rate : {1e-4, 0.004, 0.1, 0.5, 0.9})
    for (const double sigma : {0.7, 1.3, 4.0})
      for (const double order : {1.1, 1.5, 2.0, 3.7, 10.9, 11.0, 32.0, 63.0}) {
        CAPTURE(rate);
        CAPTURE(sigma);
        CAPTURE(order);
        const SampledGaussian step{.rate = rate, .noise = sigma};
        CHECK(renyi_divergence(step, order) ==
              doctest::Approx(integrated_divergence(step, order)).epsilon(1e-4));
      }
}

TEST_CASE("A divergence grows with its order") {
  for (const double rate : {1e-3, 0.03, 0.6}) {
    const std::vector<double> curve = renyi_curve({.rate = rate, .noise = 1.1});
    CHECK(std::ranges::is_sorted(curve));
  }
}

TEST_CASE("Fewer samples and more noise tell less and no noise tells all") {
  const double base = epsilon_of({.rate = 0.01, .noise = 1.1}, 1000, 1e-5);
  CHECK(epsilon_of({.rate = 0.005, .noise = 1.1}, 1000, 1e-5) < base);
  CHECK(epsilon_of({.rate = 0.01, .noise = 1.5}, 1000, 1e-5) < base);
  CHECK(epsilon_of({.rate = 0.01, .noise = 1.1}, 500, 1e-5) < base);
  CHECK(epsilon_of({.rate = 0.01, .noise = 1.1}, 1000, 1e-3) < base);
  CHECK(epsilon_of({.rate = 0.01, .noise = 1.1}, 0, 1e-5) == 0);
  CHECK(std::isinf(epsilon_of({.rate = 0.01, .noise = 0}, 1, 1e-5)));
}

// opacus/tests/accountants_test.py: 7.32911117143, and the noise multipliers 1.416 and 1.3562 for
// an epsilon of 8.
TEST_CASE("Epsilon is that of the tests of opacus") {
  CHECK(epsilon_of({.rate = 0.04, .noise = 1.5}, 2250, 1e-5) ==
        doctest::Approx(7.32911117143).epsilon(1e-4));
  CHECK(epsilon_of({.rate = 0.04, .noise = 1.416}, 2250, 1e-5) == doctest::Approx(8).epsilon(0.01));
  CHECK(epsilon_of({.rate = 0.04, .noise = 1.3562}, 2000, 1e-5) ==
        doctest::Approx(8).epsilon(0.01));
}

// The example in opacus/accountants/analysis/rdp.py: 0.336, of the orders 2 to 32.
TEST_CASE("Divergences of unlike steps add up to the published example") {
  double least = std::numeric_limits<double>::infinity();
  for (double order = 2; order <= 32; ++order) {
    const double sum = 10 * renyi_divergence({.rate = 1e-5, .noise = 1}, order) +
                       4 * renyi_divergence({.rate = 1e-4, .noise = 3}, order);
    least = std::min(least, sum - (std::log(1e-5) + std::log(order)) / (order - 1) +
                                std::log((order - 1) / order));
  }
  CHECK(least == doctest::Approx(0.336).epsilon(0.002));
}

// Of 60,000 samples with delta = 1e-5. The documented example of TensorFlow Privacy: batches of
// 250, sigma 1.3, 15 epochs, epsilon 1.18. examples/mnist_README.md of opacus, which takes the
// batches of 256 of that library's tutorial: 1.19, 3.01 and 7.10.
TEST_CASE("By the earlier conversion epsilon is that of the published runs on MNIST") {
  struct Run {
    double batch, noise, epochs, epsilon;
  };
  for (const Run& run : {Run{250, 1.3, 15, 1.18}, Run{256, 1.3, 15, 1.19}, Run{256, 1.1, 60, 3.01},
                         Run{256, 0.7, 45, 7.10}}) {
    CAPTURE(run.noise);
    const SampledGaussian step{.rate = run.batch / 60'000, .noise = run.noise};
    CHECK(earlier_epsilon(step, run.epochs / step.rate, 1e-5) ==
          doctest::Approx(run.epsilon).epsilon(0.01));
  }
}
