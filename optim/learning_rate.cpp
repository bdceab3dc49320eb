#include "optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>
#include <vector>

#include "base/text.h"

namespace starling::optim {

namespace {

using Shape = Schedule::Shape;

constexpr std::string_view kAllowed =
    "expected constant, step:R:f, cosine:R, inverse:R or warmup:R with R >= 1 and 0 < f <= 1";

struct ShapeRow {
  std::string_view name;
  Shape shape;
  std::size_t parts;  // the name and the numbers after it
};
constexpr ShapeRow kShapes[] = {{"constant", Shape::constant, 1},
                                {"step", Shape::step, 3},
                                {"cosine", Shape::cosine, 2},
                                {"inverse", Shape::inverse, 2},
                                {"warmup", Shape::warmup, 2}};

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  const auto* const row =
      std::ranges::find(kShapes, parts.empty() ? "" : parts.front(), &ShapeRow::name);
  if (row == std::end(kShapes) || parts.size() != row->parts) return fail("{}", kAllowed);
  Schedule schedule{.shape = row->shape};
  const std::optional<double> rounds = parts.size() > 1 ? parse_number(parts[1]) : 1.0;
  const std::optional<double> by = parts.size() > 2 ? parse_number(parts[2]) : 1.0;
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
