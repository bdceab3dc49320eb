// Evaluations: when a node judges its model on held-out samples. While it trains: at the beginning,
// and then when `every` rounds are over and evaluations have taken at most `share` of the time
// since the last one began. At a pause: if a round is over since the last. At the end always, and
// never after it: the steps of a refit are on held-out samples.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "gossip/node/life.h"
#include "gossip/options.h"

namespace starling::gossip {

class Evaluations {
 public:
  // `pace` outlives this, and may change.
  explicit Evaluations(const EvaluationPace& pace) : pace_(pace) {}

  // The model after that round is judged: by this node, or by the donor of an adopted model.
  void set_judged(std::uint64_t round) { judged_ = round; }
  // The last evaluation ended now.
  void add(Time now, Duration took) {
    next_ = now + from_seconds(seconds(took) * (1 / pace_.share - 1));
  }

  // Whether the job evaluates the model of the round before its own. `then`: what follows it.
  // `is_last`: none follows.
  void write(Time now, phases::Computing::Then then, bool is_last, optim::Job& job) {
    if (has_ended_) return;
    has_ended_ = is_last;
    job.evaluate = is_last || is_due(now, job.round - 1, then);
    if (job.evaluate) judged_ = job.round - 1;
  }

 private:
  bool is_due(Time now, std::uint64_t round, phases::Computing::Then then) const {
    using Then = phases::Computing::Then;
    if (!judged_ || then == Then::ends) return true;
    return then == Then::pauses ? round > *judged_
                                : round >= *judged_ + pace_.every && now >= next_;
  }

  const EvaluationPace& pace_;
  std::optional<std::uint64_t> judged_;
  bool has_ended_ = false;
  Time next_{};  // not before
};

}  // namespace starling::gossip
