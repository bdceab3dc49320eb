#include "daemon/cli/offline/link_plan.h"

#include <algorithm>
#include <cmath>

namespace starling::daemon {
namespace {

constexpr std::int64_t kSomeSteps = 8;
constexpr double kComputingWanted = 0.9;

RoundTime round_time(std::string way, const LinkOptions& options, std::int64_t steps,
                     double round_s) {
  const double computing_s = static_cast<double>(steps) * options.step_s;
  return {.way = std::move(way),
          .round_s = round_s,
          .computing = computing_s / round_s,
          .steps_per_s = static_cast<double>(steps) / round_s,
          .steps = steps};
}

}  // namespace

std::vector<RoundTime> plan_rounds(const LinkOptions& options) {
  const double step = options.step_s;
  const double vector_s = options.vector_bytes / options.bytes_per_s;
  const double exchange_s = options.neighbors * vector_s;
  const double partner_s = options.neighbors > 0 ? vector_s : 0;
  const auto with_steps = [&](std::int64_t steps) {
    return round_time(fmt::format("local-steps = {}", steps), options, steps,
                      static_cast<double>(steps) * step + exchange_s);
  };
  std::vector<RoundTime> rounds = {
      round_time("dpsgd", options, 1, step + exchange_s),
      round_time("dpsgd-pipelined", options, 1, std::max(step, exchange_s)),
      round_time("adpsgd", options, 1, std::max(step, partner_s))};
  if (options.in_slices)
    rounds.push_back(
        round_time("schedule = allreduce", options, 1, step + *options.in_slices * vector_s));
  for (const auto& [name, bytes] : options.codecs)
    rounds.push_back(
        round_time(name, options, 1, step + options.neighbors * bytes / options.bytes_per_s));
  rounds.push_back(with_steps(kSomeSteps));
  rounds.push_back(round_time(fmt::format("matching, local-steps = {}", kSomeSteps), options,
                              kSomeSteps, static_cast<double>(kSomeSteps) * step + partner_s));
  const double needed = exchange_s / step * kComputingWanted / (1 - kComputingWanted);
  if (needed > static_cast<double>(kSomeSteps) && needed < 1e12)
    rounds.push_back(with_steps(static_cast<std::int64_t>(std::ceil(needed * (1 - 1e-12)))));
  for (RoundTime& round : rounds) round.gain = round.steps_per_s / rounds.front().steps_per_s;
  return rounds;
}

std::string to_lines(const std::vector<RoundTime>& rounds) {
  std::string text = fmt::format("\n{:<26}{:>10}{:>11}{:>10}{:>8}\n", "way", "round", "computing",
                                 "steps/s", "gain");
  for (const RoundTime& round : rounds)
    text += fmt::format("{:<26}{:>10}{:>10.1f} %{:>9.4g}{:>7.2f} x\n", round.way,
                        fmt::format("{:.4g} s", round.round_s), 100 * round.computing,
                        round.steps_per_s, round.gain);
  return text;
}

}  // namespace starling::daemon
