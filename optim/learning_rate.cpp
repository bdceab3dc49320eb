#include "optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"

namespace starling::optim {

Result<Schedule> parse_schedule(std::string_view text) {
  constexpr std::string_view kAllowed =
      "expected constant, step:R:f, cosine:R, inverse:R or warmup:R with R >= 1 and 0 < f <= 1";
  using Shape = Schedule::Shape;
  const std::vector<std::string> parts = split(text, ':');
  const std::string shape = parts.empty() ? "" : parts[0];
  if (shape == "constant" && parts.size() == 1) return Schedule{};
  Schedule schedule;
  if (shape == "step")
    schedule.shape = Shape::step;
  else if (shape == "cosine")
    schedule.shape = Shape::cosine;
  else if (shape == "inverse")
    schedule.shape = Shape::inverse;
  else if (shape == "warmup")
    schedule.shape = Shape::warmup;
  else
    return fail("{}", kAllowed);
  if (parts.size() != (schedule.shape == Shape::step ? 3U : 2U)) return fail("{}", kAllowed);
  const auto rounds = parse_number(parts[1]);
  const auto by = parts.size() == 3 ? parse_number(parts[2]) : std::optional(1.0);
  if (!rounds || *rounds < 1 || !by || *by <= 0 || *by > 1) return fail("{}", kAllowed);
  schedule.rounds = *rounds;
  schedule.factor = *by;
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  switch (schedule.shape) {
    case Schedule::Shape::constant:
      return "constant";
    case Schedule::Shape::step:
      return fmt::format("step:{}:{}", schedule.rounds, schedule.factor);
    case Schedule::Shape::cosine:
      return fmt::format("cosine:{}", schedule.rounds);
    case Schedule::Shape::inverse:
      return fmt::format("inverse:{}", schedule.rounds);
    case Schedule::Shape::warmup:
      return fmt::format("warmup:{}", schedule.rounds);
  }
  return {};
}

double factor(const Schedule& schedule, std::uint64_t round) {
  const double t = static_cast<double>(round > 0 ? round - 1 : 0);
  const double progress = t / schedule.rounds;
  switch (schedule.shape) {
    case Schedule::Shape::constant:
      return 1;
    case Schedule::Shape::step:
      return std::pow(schedule.factor, std::floor(progress));
    case Schedule::Shape::cosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
    case Schedule::Shape::inverse:
      return 1 / (1 + progress);
    case Schedule::Shape::warmup:
      return std::min((t + 1) / schedule.rounds, 1.0);
  }
  return 1;
}

}  // namespace starling::optim
