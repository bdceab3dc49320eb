// The loops that touch every parameter. Free functions on spans; reader and compiler see the cost.
// Each is compiled for several instruction sets and chosen once at load time.
#pragma once

#include <cstddef>
#include <span>

namespace starling::optim {

// x += weight * (theirs - own), and returns ||theirs - own||^2, which is not finite exactly when
// a number of `theirs` is not or is absurdly far away. REQUIRES equal sizes of at most kTile.
inline constexpr std::size_t kTile = 4096;
double pull(std::span<float> x, std::span<const float> own, std::span<const float> theirs,
            float weight);
double pull(std::span<double> x, std::span<const double> own, std::span<const double> theirs,
            double weight);

// y += a * x. REQUIRES equal sizes.
void axpy(float a, std::span<const float> x, std::span<float> y);
void axpy(double a, std::span<const double> x, std::span<double> y);

// ||x||^2, summed in a fixed order in double.
double squared_norm(std::span<const float> x);
double squared_norm(std::span<const double> x);
double squared_distance(std::span<const float> x, std::span<const float> y);
double squared_distance(std::span<const double> x, std::span<const double> y);

// Adds to each of the 64 buckets of `sketch` the entries of x whose index is the bucket modulo 64,
// with signs drawn from the index: a linear map S with E||Sx||^2 = ||x||^2 (count sketch; Charikar,
// Chen, Farach-Colton 2002). REQUIRES sketch.size() == 64.
inline constexpr std::size_t kSketchSize = 64;
void sketch(std::span<const float> x, std::span<double> sketch);
void sketch(std::span<const double> x, std::span<double> sketch);

}  // namespace starling::optim
