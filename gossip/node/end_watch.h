// EndWatch: judges the end of the run as a node goes on, and reports on it.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "gossip/edges/exchange.h"
#include "gossip/node/life.h"
#include "gossip/node/run_end.h"
#include "gossip/node/settlement.h"
#include "gossip/node/training_progress.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class EndWatch {
 public:
  // The parts of the node that it reads; they and the options outlive it.
  struct Around {
    const Life& life;
    Exchange& exchange;
    const Roster& members;
    const TrainingProgress& progress;
    const Settlement& settlement;
  };
  EndWatch(const Options& options, RunEnd& end, const Around& around)
      : options_(options), end_(end), around_(around) {}

  // After each round, and between rounds as often as news are told. Asks the driver to cut steps
  // short that come after the end.
  void tick(Time now, Outbox& out);
  // The node begins after `round`.
  void begin(Time now, std::uint64_t round);
  EndStatus status(Time now) const;

 private:
  RunEnd::Own own(Time now) const;
  std::string shortfall() const;

  const Options& options_;
  RunEnd& end_;
  Around around_;
  Time judged_at_{};
  std::uint64_t judged_round_ = 0;
  bool has_cut_steps_ = false;
};

}  // namespace starling::gossip
