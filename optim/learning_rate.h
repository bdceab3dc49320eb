// Schedule: the factor on the learning rate as a function of the round, the same at all nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace starling::optim {

struct Schedule {
  enum class Shape { constant, step, cosine, inverse, warmup };
  Shape shape = Shape::constant;
  double rounds = 1;  // R
  double factor = 1;  // f of step
};

// "constant", "step:R:f", "cosine:R", "inverse:R", "warmup:R".
Result<Schedule> parse_schedule(std::string_view text);
// The text for parse_schedule(), with the shortest numbers.
std::string to_string(const Schedule& schedule);

// The factor in round t, counted from 1.
double factor(const Schedule& schedule, std::uint64_t round);

}  // namespace starling::optim
