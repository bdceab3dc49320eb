// Violation: a law that did not hold, and where and when that was seen.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace starling::sim {

struct Violation {
  std::string law;  // its short name, the same for every breach of it
  Time at{};
  std::size_t node = 0;
  std::string what = {};
};

// Whoever finds one hands it on by this.
using Report = std::function<void(std::string law, std::size_t node, std::string what)>;

inline std::string to_text(const Violation& violation, std::uint64_t seed) {
  return fmt::format("seed {} fails: {}, at {:.6f} s, node-{}: {}", seed, violation.law,
                     seconds(violation.at), violation.node, violation.what);
}

}  // namespace starling::sim
