#include "gossip/node/pace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace starling::gossip {
namespace {

// Rounds with the same number of steps before the pace changes. More: the pace follows the others
// later. Fewer: a few unusual rounds change the pace.
constexpr std::size_t kRoundsOfPace = 8;

// The part of a round that the own steps may fill. Larger: this node becomes the slowest by jitter.
// Smaller: more of the wait is left over.
constexpr double kFilled = 0.95;

// The least growth and the size of a decrease. Smaller: paces follow the noise of measurements.
constexpr double kGrowth = 1.25, kDecrease = 0.8;

// The wait over the own steps below which others wait for this node. Larger: a pace is given back
// though it fitted. Smaller: jitter hides that this node is the slowest.
constexpr double kNoIdleTime = 0.02;

// Larger: a very fast node finds work for longer waits, but drifts further from the others.
constexpr double kPaceMost = 64;

}  // namespace

bool Pace::add(const Round& round) {
  if (!is_chosen_) return false;
  const Round before = std::exchange(measured_, round);
  // The first round of a new number is not measured: neighbours are in step with it a round later.
  if (round.steps != before.steps || round.common != before.common) {
    rounds_ = 0;
    computes_ = idles_ = {};
    return false;
  }
  computes_.add(round.compute);
  idles_.add(round.idle);
  if (++rounds_ < kRoundsOfPace) return false;
  const std::size_t wished = wish();
  value_ = static_cast<double>(wished) / static_cast<double>(round.common);
  return wished != round.steps;
}

// REQUIRES measured rounds.
std::size_t Pace::wish() const {
  const auto steps = static_cast<double>(measured_.steps);
  const auto common = static_cast<double>(measured_.common);
  const double compute = seconds(computes_.median());
  if (!(compute > 0)) return measured_.steps;
  const double fitting = std::floor(kFilled * steps * (1 + seconds(idles_.least()) / compute));
  double wished = steps;
  if (fitting >= kGrowth * steps) wished = std::min(fitting, kPaceMost * common);
  if (seconds(idles_.median()) < kNoIdleTime * compute) wished = std::floor(kDecrease * steps);
  return static_cast<std::size_t>(std::max(wished, common));
}

std::size_t Pace::steps(std::size_t common) const {
  return static_cast<std::size_t>(std::max(1.0, std::round(value_ * static_cast<double>(common))));
}

std::string Pace::reason() const {
  if (!is_chosen_ && value_ == 1) return {};
  if (!is_chosen_)
    return fmt::format("optim.pace={}: so many times the steps of other nodes", value_);
  const std::string pace =
      fmt::format("optim.pace=auto: {:.3g} times the steps of the slowest node", value_);
  if (rounds_ < kRoundsOfPace) return pace + ", being measured";
  return fmt::format("{}; these take {:.3g} s a round, and waiting for slower nodes {:.3g} s", pace,
                     seconds(computes_.median()), seconds(idles_.median()));
}

}  // namespace starling::gossip
