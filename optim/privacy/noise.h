// Noise: the chance of private steps: which samples a step draws, and what is added to the sum of
// their gradients.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "base/key_stream.h"

namespace starling::optim {

// Independent standard normals, by Box and Muller, in double precision. Not hardened against a
// reader of the low bits of what they are added to (Mironov: On significance of the least
// significant bits for differential privacy, 2012).
class Normals {
 public:
  double next(KeyStream& chance) {
    if (std::exchange(has_second_, !has_second_)) return second_;
    const double radius = std::sqrt(-2 * std::log(chance.uniform()));
    const double angle = 2 * std::numbers::pi * chance.uniform();
    second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  double second_ = 0;
  bool has_second_ = false;
};

// values += N(0, deviation^2 I)
template <class S>
void add_noise(double deviation, KeyStream& chance, std::span<S> values) {
  Normals normals;
  for (S& value : values) value += static_cast<S>(deviation * normals.next(chance));
}

// Replaces `drawn` by some of the indices below `count`, ascending: each with that probability, on
// its own (Poisson sampling). The gaps between them are geometric. REQUIRES 0 < probability <= 1.
inline void draw_samples(std::size_t count, double probability, KeyStream& chance,
                         std::vector<std::uint32_t>& drawn) {
  drawn.clear();
  const double log_missed = std::log1p(-probability);  // -infinity for 1
  for (std::size_t index = 0;; ++index) {
    const double gap = std::floor(std::log(chance.uniform()) / log_missed);
    if (!(gap < static_cast<double>(count - index))) return;
    index += static_cast<std::size_t>(gap);
    drawn.push_back(static_cast<std::uint32_t>(index));
    if (index + 1 == count) return;
  }
}

}  // namespace starling::optim
