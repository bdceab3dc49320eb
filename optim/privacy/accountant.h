// Accountant: what steps on randomly drawn samples with Gaussian noise tell about one sample, as
// Renyi differential privacy (Mironov: Renyi differential privacy, 2017). For two data sets that
// differ by one sample, present or absent, and steps that each release
//   sum over the drawn samples of clipped gradients + N(0, (sigma C)^2 I) ,
// where each sample is drawn with probability q and no clipped gradient is longer than C, the
// divergence of order alpha of one step is at most
//   rho(alpha) = log(A) / (alpha - 1),  A = E_{z ~ N(0, sigma^2)} [(1 - q + q e^{(2z-1) / 2
//   sigma^2})^alpha]
// (Mironov, Talwar, Zhang: Renyi differential privacy of the sampled Gaussian mechanism, 2019), and
// T steps have T rho(alpha), also where each depends on what the earlier ones released. This is
// (epsilon, delta)-differential privacy with the least over alpha of
//   epsilon = T rho(alpha) + log((alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1)
// (Balle et al.: Hypothesis testing interpretations and Renyi differential privacy, 2020, theorem
// 21).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace starling::optim {

// One step: q above 0 and up to 1, sigma not negative.
struct SampledGaussian {
  double rate = 1;   // q
  double noise = 0;  // sigma, of a sum of sensitivity 1

  bool operator==(const SampledGaussian&) const = default;
};

// The orders alpha, ascending, over which epsilon is the least: fine where epsilon is large, coarse
// where it is small.
std::span<const double> renyi_orders();

// rho(alpha). Infinite without noise. REQUIRES alpha > 1.
double renyi_divergence(const SampledGaussian& step, double order);

// rho at each of renyi_orders().
std::vector<double> renyi_curve(const SampledGaussian& step);

// The epsilon of so many steps of that curve; 0 of none, infinite without noise. REQUIRES 0 < delta
// < 1.
double epsilon(std::span<const double> curve, std::uint64_t steps, double delta);

}  // namespace starling::optim
