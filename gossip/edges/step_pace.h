// StepPace: the number of local steps in a round. If the nodes choose, a node wishes for the least
// number H with which at most a share s of its time goes to the exchange:
//   H = E (1 - s) / (s c) ,
// where E is the seconds of a round spent averaging, encoding, and waiting while the last vector
// was under way; c the rest of the round per step: computing, evaluating, and waiting for
// neighbours that compute or whose messages were lost. Both are medians of recent rounds. All nodes
// take the largest wish of all members (members/extremes.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/edges/patience.h"
#include "gossip/options.h"

namespace starling::gossip {

// The most local steps of a round. Larger: a fleet with a very slow link stays within its share,
// but a false wish makes rounds longer. Smaller: such a fleet waits for its link.
inline constexpr std::size_t kLocalStepsMost = 1024;

class StepPace {
 public:
  explicit StepPace(const optim::StepCount& steps)
      : chooses_(!steps.fixed), share_(steps.exchange_share), steps_(steps.fixed.value_or(1)) {}

  // Whether the nodes choose; only then are the functions below of use, except steps().
  bool chooses() const { return chooses_; }

  // A round of `steps` local steps, not 0, took `whole`, of which `exchange` for the exchange.
  void add(std::size_t steps, Duration whole, Duration exchange);
  // A power of two, at most kLocalStepsMost; nothing before enough rounds are measured.
  std::optional<std::size_t> wish() const { return wish_; }

  // Takes the largest wish of all members; nothing: unknown, no change.
  void follow(std::optional<double> wished);
  // For the next round. If the nodes choose, 1 at first.
  std::size_t steps() const { return steps_; }
  // For people: why this number; empty if a setting fixes it.
  std::string reason() const;

 private:
  void consider(double need);

  bool chooses_;
  double share_;  // s
  Recent exchanges_, rests_;
  std::size_t measured_steps_ = 0;  // of the rounds that these are of
  std::size_t rounds_ = 0;          // that these are of
  double exchange_s_ = 0, step_s_ = 0;
  std::optional<std::size_t> wish_;
  std::size_t steps_;
};

}  // namespace starling::gossip
