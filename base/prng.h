// Chance as an argument: a seeded generator whose numbers are the same on every machine.
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "base/check.h"

namespace starling {

// sm(x) of the reference problem: one SplitMix64 output for the state x.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

class Prng {
 public:
  explicit Prng(std::uint64_t seed) : state_(seed) {}

  // An independent generator for a purpose or an index.
  static Prng derive(std::uint64_t seed, std::uint64_t stream) {
    return Prng(mix64(mix64(seed) ^ (stream * 0xD1B54A32D192ED03)));
  }

  std::uint64_t next() {
    const std::uint64_t value = mix64(state_);
    state_ += 0x9E3779B97F4A7C15;
    return value;
  }

  // Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Uniform in [0, bound), bias below 2^-32 for bounds below 2^32. REQUIRES bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    ENSURE(bound > 0, "an empty range has no number");
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  bool chance(double probability) { return uniform() < probability; }

  // Standard normal, by Box and Muller; the second of the pair is dropped to stay stateless.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  std::uint64_t state() const { return state_; }
  // For saving and restoring.
  std::uint64_t& state() { return state_; }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t state_;
};

}  // namespace starling
