// Measure: what the benchmark programs share. Each answers every line of standard input, a request,
// with one line of JSON, {"figure": …, "value": …, "unit": …}, so that a driver can take turns
// between programs that stay warm:  echo "mlp 64" | build/bench/bench/bench_step
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace starling::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// REQUIRES values.
inline double median(std::vector<double> values) {
  ENSURE(!values.empty(), "a median is of something");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How long one call of `work` takes, in seconds: the median over groups of calls, each group long
// enough for the clock, for `window` seconds and at least five groups.
template <class Work>
double time_each(double window, Work work) {
  constexpr double kGroupSeconds = 2e-3;
  std::size_t calls = 1;
  for (;; calls *= 2) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) work();
    if (seconds_since(start) > kGroupSeconds) break;
  }
  std::vector<double> each;
  for (const auto begin = Clock::now(); each.size() < 5 || seconds_since(begin) < window;) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) work();
    each.push_back(seconds_since(start) / static_cast<double>(calls));
  }
  return median(std::move(each));
}

inline void report(std::string_view figure, double value, std::string_view unit) {
  fmt::print("{{\"figure\": \"{}\", \"value\": {:.6g}, \"unit\": \"{}\"}}\n", figure, value, unit);
  std::fflush(stdout);
}

// Calls `answer` with each line of standard input until it ends.
inline void serve(const std::function<void(const std::string& request)>& answer) {
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) answer(line);
}

// The words of a request, taken in order; a word that is missing or no number ends the program.
class Words {
 public:
  explicit Words(const std::string& request) : words_(request) {}
  std::string word() { return next<std::string>(); }
  std::size_t number() { return next<std::size_t>(); }

 private:
  template <class T>
  T next() {
    T value{};
    ENSURE(words_ >> value, "a request has all its words");
    return value;
  }
  std::istringstream words_;
};

}  // namespace starling::bench
