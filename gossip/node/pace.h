// Pace: how many times as many local steps as a node of pace 1 this node takes in a round
// (optim.pace). With `auto` a fast node takes as many as fit into the time in which it would wait
// for slower ones: of recent rounds of n steps, let c be the median seconds of its own steps, and
// i_min and i the least and the median of those in which it waited for neighbours that compute.
// Then it takes
//   .95 n (c + i_min) / c , rounded down, where that is 1.25 n or more,
//   .8 n, but no fewer than a node of pace 1, where i < .02 c, since the others wait for this node.
// By the least, noise drives no paces up: of equal nodes each is the slowest in some rounds. The
// slowest never waits and keeps pace 1.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/edges/patience.h"

namespace starling::gossip {

class Pace {
 public:
  // Nothing: auto.
  explicit Pace(std::optional<double> fixed) : is_chosen_(!fixed), value_(fixed.value_or(1)) {}

  struct Round {
    std::size_t common = 0;  // the steps of a node of pace 1; not 0
    std::size_t steps = 0;   // of this node; not 0
    Duration compute{};      // of these steps
    Duration idle{};         // waited for what is not the exchange
  };
  // Returns whether the pace changed.
  bool add(const Round& round);
  // This node's steps where one of pace 1 takes `common`; at least 1.
  std::size_t steps(std::size_t common) const;
  // For people: the pace and what it follows from; empty where it is 1 by a setting.
  std::string reason() const;

 private:
  std::size_t wish() const;

  bool is_chosen_;
  double value_;
  Recent computes_, idles_;
  Round measured_{};        // the last of the rounds that these are of
  std::size_t rounds_ = 0;  // their number
};

}  // namespace starling::gossip
