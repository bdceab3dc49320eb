#include "optim/privacy/accountant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"

namespace starling::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Added to log(A) of an order that is no whole number: the sum ends at terms below it, and its
// rounding errors are smaller.
constexpr double kSeriesError = 1e-12;
// Terms fall as i^-(alpha + 2) where q is near 1/2.
constexpr std::size_t kTermsLimit = 200'000;

double log_add(double a, double b) {
  const double large = std::max(a, b), small = std::min(a, b);
  return small == -kInfinity ? large : large + std::log1p(std::exp(small - large));
}

// Beyond 25 by the asymptotic series of erfc, which is a double no more beyond 26.
double log_erfc(double x) {
  if (x < 25) return std::log(std::erfc(x));
  const double square = 2 * x * x;
  return -x * x - std::log(x * std::sqrt(std::numbers::pi)) +
         std::log1p(-1 / square + 3 / (square * square) - 15 / (square * square * square));
}

// log(A - 1) for a whole order, where A is a sum of binomial terms:
//   A - 1 = sum_{i=2}^alpha binom(alpha, i) q^i (1 - q)^(alpha - i) (e^{(i^2 - i) / 2 sigma^2} - 1)
double log_excess(const SampledGaussian& step, double order) {
  const double log_q = std::log(step.rate), log_rest = std::log1p(-step.rate);
  double sum = -kInfinity;
  for (double i = 2; i <= order; ++i) {
    const double exponent = (i * i - i) / (2 * step.noise * step.noise);
    const double growth = exponent < 30 ? std::log(std::expm1(exponent)) : exponent;
    const double binomial =
        std::lgamma(order + 1) - std::lgamma(i + 1) - std::lgamma(order - i + 1);
    sum = log_add(sum, binomial + i * log_q + (order - i) * log_rest + growth);
  }
  return sum;
}

// log(1 + e^x)
double log_one_plus(double x) {
  return x > 30 ? x : std::log1p(std::exp(x));
}

// The sum of terms with signs, each by its logarithm.
class SignedSum {
 public:
  void add(bool is_negative, double log_term) {
    double& side = is_negative ? minus_ : plus_;
    side = log_add(side, log_term);
  }
  // The logarithm. REQUIRES a sum above zero.
  double finish() const { return plus_ + std::log1p(-std::exp(minus_ - plus_)); }

 private:
  double plus_ = -kInfinity, minus_ = -kInfinity;
};

// log(A) for any order: the integral on either side of the z at which both terms of the base are
// equal, each by its binomial series (section 3.3 of the paper).
double log_series(const SampledGaussian& step, double order) {
  const double q = step.rate, sigma = step.noise;
  const double log_q = std::log(q), log_rest = std::log1p(-q);
  const double middle = sigma * sigma * (log_rest - log_q) + 0.5;
  const double scale = std::numbers::sqrt2 * sigma, twice = 2 * sigma * sigma;
  SignedSum sum;
  double log_binomial = 0;
  bool is_negative = false;
  for (std::size_t k = 0; k < kTermsLimit; ++k) {
    const double i = static_cast<double>(k), j = order - i;
    const double left = log_binomial + i * log_q + j * log_rest + (i * i - i) / twice +
                        log_erfc((i - middle) / scale);
    const double right = log_binomial + j * log_q + i * log_rest + (j * j - j) / twice +
                         log_erfc((middle - j) / scale);
    const double term = log_add(left, right) - std::numbers::ln2;
    sum.add(is_negative, term);
    if (i > order && term < std::log(kSeriesError)) return sum.finish() + kSeriesError;
    is_negative = is_negative != (j < 0);
    log_binomial += std::log(std::abs(j)) - std::log(i + 1);
  }
  return kInfinity;
}

std::vector<double> make_orders() {
  std::vector<double> orders;
  for (int tenth = 11; tenth < 110; ++tenth) orders.push_back(tenth / 10.0);
  for (int whole = 11; whole < 64; ++whole) orders.push_back(whole);
  for (const double large : {72, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024})
    orders.push_back(large);
  return orders;
}

}  // namespace

std::span<const double> renyi_orders() {
  static const std::vector<double> kOrders = make_orders();
  return kOrders;
}

double renyi_divergence(const SampledGaussian& step, double order) {
  ENSURE(order > 1 && step.rate > 0 && step.rate <= 1, "a divergence of that order is defined");
  if (!(step.noise > 0)) return kInfinity;
  if (step.rate == 1) return order / (2 * step.noise * step.noise);
  const bool is_whole = order == std::floor(order);
  const double log_moment =
      is_whole ? log_one_plus(log_excess(step, order)) : log_series(step, order);
  return log_moment / (order - 1);
}

std::vector<double> renyi_curve(const SampledGaussian& step) {
  std::vector<double> curve;
  for (const double order : renyi_orders()) curve.push_back(renyi_divergence(step, order));
  return curve;
}

double epsilon(std::span<const double> curve, std::uint64_t steps, double delta) {
  ENSURE(curve.size() == renyi_orders().size() && delta > 0 && delta < 1,
         "epsilon is of a curve over all orders and a probability");
  if (steps == 0) return 0;
  double least = kInfinity;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    const double order = renyi_orders()[k];
    least = std::min(least, static_cast<double>(steps) * curve[k] + std::log1p(-1 / order) -
                                (std::log(delta) + std::log(order)) / (order - 1));
  }
  return std::max(0.0, least);
}

}  // namespace starling::optim
