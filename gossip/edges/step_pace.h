// StepPace: how many local steps a round has. Where the nodes choose, a node wishes the least
// number H for which no more than a share s of its time goes to the exchange:
//   H = E (1 - s) / (s c) ,
// E being the seconds of a round in which the vector that came last was under way while this node
// waited, and those of averaging and encoding; c the rest of the round over its steps: computing,
// evaluating, and waiting for neighbours that compute or whose messages were lost. Both are medians
// of recent rounds. All nodes take the largest wish of all of them (members/extremes.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/edges/patience.h"
#include "gossip/options.h"

namespace starling::gossip {

// Local steps of a round at most. Larger: a fleet with a very slow link keeps within its share, and
// one false wish makes rounds longer. Smaller: such a fleet waits for its link all the same.
inline constexpr std::size_t kLocalStepsMost = 1024;

class StepPace {
 public:
  explicit StepPace(const optim::StepCount& steps)
      : chooses_(!steps.fixed), share_(steps.exchange_share), steps_(steps.fixed.value_or(1)) {}

  // Whether the nodes choose; all below but for steps() is of use only then.
  bool chooses() const { return chooses_; }

  // A round of `steps` local steps, not 0, has taken `whole`, and `exchange` of that for the
  // exchange.
  void add(std::size_t steps, Duration whole, Duration exchange);
  // A power of two, at most kLocalStepsMost; nothing before enough rounds are measured.
  std::optional<std::size_t> wish() const { return wish_; }

  // The largest wish of all members, as it was heard; nothing: as before.
  void follow(std::optional<double> wished);
  // Of the next round. Where the nodes choose, 1 at first.
  std::size_t steps() const { return steps_; }
  // For people: why so many; empty where a setting says so.
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
