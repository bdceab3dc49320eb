// Closing: the phases from the last round of a node to the model with which the run ends (ending,
// settling, sealing, finished; life.h), and the last pairs of a node that leaves.
#pragma once

#include "base/time.h"
#include "gossip/edges/exchange.h"
#include "gossip/node/life.h"
#include "gossip/node/mask_groups.h"
#include "gossip/node/run_end.h"
#include "gossip/node/saver.h"
#include "gossip/node/settlement.h"
#include "gossip/node/training_progress.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Closing {
 public:
  // The other parts of the node, which outlive it.
  struct Around {
    const Options& options;
    const Roster& members;
    Life& life;
    Exchange& exchange;
    Saver& saver;
    const RunEnd& end;
    Settlement& settlement;
    const TrainingProgress& progress;
    const MaskGroups& masks;
  };
  explicit Closing(const Around& around) : around_(around) {}

  // The last round has ended, or a pause that the end of the run ends.
  void begin(Time now, Outbox& out);
  // Goes on through the phases. REQUIRES that the node has come to ending, and is free. May begin
  // an errand.
  void advance(Time now, Outbox& out);
  // Of a node that leaves: averages the pairs of closing edges. Returns whether it is done.
  bool wind_up(Outbox& out);

 private:
  bool average_last_pairs(Outbox& out);
  void run(Errand errand, optim::Job job, Outbox& out);
  double distance_within() const;

  Around around_;
  bool is_told_ = false;  // that the run ends
};

}  // namespace starling::gossip
