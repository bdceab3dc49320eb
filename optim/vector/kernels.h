// The loops that touch every parameter. Free functions on spans; reader and compiler see the cost.
// Each is compiled for several instruction sets and chosen once at load time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace starling::optim {

template <class S>
struct PullSources {
  std::span<const S> x, own;
  std::vector<std::span<const S>> theirs;
  std::vector<S> weights;
};

// out = x + sum_j weight_j (theirs_j - own) over the `count` neighbours from `first` on, at most
// kPullLimit; adds ||theirs_j - own||^2 to squared[j], which is then not finite exactly when a
// number of theirs_j is not or is absurdly far away. `out` may be x; where it is streamed, past the
// caches, it lies at a multiple of 16. REQUIRES equal sizes of at most kTile.
inline constexpr std::size_t kTile = 4096;
inline constexpr std::size_t kPullLimit = 4;
void pull(const PullSources<float>& from, std::size_t first, std::size_t count,
          std::span<float> out, bool is_streamed, std::span<double> squared);
void pull(const PullSources<double>& from, std::size_t first, std::size_t count,
          std::span<double> out, bool is_streamed, std::span<double> squared);

// y += a * x. REQUIRES equal sizes.
void axpy(float a, std::span<const float> x, std::span<float> y);
void axpy(double a, std::span<const double> x, std::span<double> y);

// factor * values, without computing it.
template <class S>
struct Scaled {
  S factor = 1;
  std::span<const S> values;
};
// y += the terms, one after another. REQUIRES equal sizes.
template <class S>
void add(std::span<const Scaled<S>> terms, std::span<S> y) {
  for (const Scaled<S>& term : terms) axpy(term.factor, term.values, y);
}

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
