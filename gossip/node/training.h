// Training: the order of jobs, from the first round to the model with which the run ends. A round
// absorbs the vectors of the previous round, takes local steps and offers. If the algorithm
// overlaps, the round offers first and takes its steps while the vectors travel. Between rounds of
// the schedule `pairwise`, a neighbour that waits gets an answer, and within those of `allreduce`
// all of them get means: absorb, offer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/exchange.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/edges/links.h"
#include "gossip/node/closing.h"
#include "gossip/node/donor.h"
#include "gossip/node/evaluations.h"
#include "gossip/node/life.h"
#include "gossip/node/mask_groups.h"
#include "gossip/node/pace.h"
#include "gossip/node/renewal.h"
#include "gossip/node/run_end.h"
#include "gossip/node/saver.h"
#include "gossip/node/setting_log.h"
#include "gossip/node/settlement.h"
#include "gossip/node/solitude.h"
#include "gossip/node/training_progress.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Training {
 public:
  // The other parts of the node; they and the options outlive the training.
  struct Around {
    const Roster& members;
    Life& life;
    Exchange& exchange;
    Links& links;
    Donor& donor;            // whose copies of the state jobs make
    Saver& saver;            // decides which jobs copy the state for a checkpoint
    ExchangeBudget& budget;  // measures the rounds and says how many local steps they have
    const RunEnd& end;       // says after which round no local step begins
    Settlement& settlement;  // then makes all models one
    SettingLog& settings;    // says with which values a round begins
  };
  Training(const Options& options, const Around& around)
      : options_(options),
        around_(around),
        progress_(options.goal.epsilon),
        pace_(options.local_steps.pace),
        masks_(options),
        solitude_(options),
        closing_({options, around.members, around.life, around.exchange, around.saver, around.end,
                  around.settlement, progress_, masks_}),
        renewal_({around.members, around.life, around.exchange, around.links, around.settings,
                  around.budget, closing_}),
        evaluations_(options.evaluation) {}

  // Starts with the round after `round`, the round of an adopted model, or 0. `before`: continues
  // its counts; null: no earlier life. REQUIRES phase ready.
  void start(Time now, std::uint64_t round, Outbox& out, const Checkpoint* before = nullptr);
  void trained(Time now, optim::Done done, Outbox& out);
  // Begins the next round, an answer to a neighbour, a job of the end of the run, or at rest a copy
  // of the state for a newcomer or a checkpoint, whichever may begin now.
  void advance(Time now, Outbox& out);
  Time deadline() const;
  // Averages the last pairs of a node that leaves.
  Closing& closing() { return closing_; }
  // Then copies the state once more, if the saver wants a last checkpoint.
  void save_last(Time now, Outbox& out);

  // Whether to end with the round under way, and to begin no more for now. May be repeated.
  void want_pause(bool is_wanted) { is_pause_wanted_ = is_wanted; }
  // Looks whom a round may wait for, and at the training of the others, for a relay: it ends a
  // round only if they lead it there.
  void follow(const Roster& members) {
    solitude_.follow(around_.links, members);
    if (!is_relay(options_)) return;
    lead_.any_trains = any_other_trains(members);
    lead_.is_led = lead_.any_trains && around_.exchange.is_led(around_.links, members);
  }
  // Why this node rests although it is not paused; empty: it does not.
  std::string rest_reason(Time now) const;
  // The data assignment to use from the next job on.
  void reassign(std::shared_ptr<const optim::Shard> shard) { shard_ = std::move(shard); }

  TrainingProgress& progress() { return progress_; }
  const TrainingProgress& progress() const { return progress_; }
  const Pace& pace() const { return pace_; }
  MaskGroups& masks() { return masks_; }
  const MaskGroups& masks() const { return masks_; }

 private:
  // The round so far.
  struct UnderWay {
    Time begun{};
    std::size_t common = 0;  // the local steps of a node of pace 1
    std::size_t steps = 0;   // of this node; 0: none yet
    Duration compute{}, mix{};
  };
  bool is_round_complete(Time now);
  void begin_round(Time now, std::vector<optim::MixTerm> mix, bool absorb, Outbox& out);
  void begin_copy(Time now, Outbox& out);
  void begin_checkpoint(Time now, Outbox& out);
  void run(Errand errand, optim::Job job, Outbox& out);
  void leave_pause(Time now, Outbox& out);
  void end_round(Time now, phases::Computing::Then then, Outbox& out);
  void measure(Time now, bool has_ended, Outbox& out);
  bool saves(Time now, std::uint64_t round, bool rests);
  Checkpoint checkpoint_of(Time now, std::uint64_t round) const;

  const Options& options_;
  Around around_;
  TrainingProgress progress_;
  Pace pace_;
  MaskGroups masks_;
  Solitude solitude_;
  bool is_pause_wanted_ = false;
  // Of a relay, when it was looked last.
  struct Lead {
    bool any_trains = true;  // any_other_trains()
    bool is_led = true;
  } lead_;
  Closing closing_;
  Renewal renewal_;
  Evaluations evaluations_;
  std::shared_ptr<const optim::Shard> shard_;
  UnderWay under_way_;
};

}  // namespace starling::gossip
