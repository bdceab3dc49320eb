// TrainingProgress: the progress of this node's training: rounds, steps, losses and times, in this
// life and earlier ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/edges/fleet_means.h"
#include "gossip/io.h"
#include "gossip/node/drift_watch.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class TrainingProgress {
 public:
  // `epsilon`: the largest that the steps may come to; nothing: any.
  explicit TrainingProgress(std::optional<double> epsilon) : epsilon_(epsilon) {}

  // Begins after `round`. `before`: continues its counts; null: no earlier life.
  void begin(Time now, std::uint64_t round, const Checkpoint* before);
  // Time between the two does not count.
  void pause(Time now) { paused_at_ = now; }
  void go_on(Time now);

  void set_workload(const optim::Workload& workload);
  // Sets how many of the rounds so far no node did.
  void set_uncounted(std::uint64_t rounds) { run_.uncounted = rounds; }
  // Records what the trainer did, passes the model to the means, and reports problems.
  void record(Time now, const optim::Done& done, FleetMeans& means, Outbox& out);
  // Outputs a point of the convergence series.
  void report(Outbox& out);
  // Ends the training.
  void finish(Time now);
  // All that was measured so far belongs to rounds that have ended.
  void end_rounds(Time now) { lived_ = lived(now); }

  // Takes no step: its steps are refused, or the last one is long ago by the time that rounds took.
  bool is_idle(Time now) const;
  // Whether the steps of one round more would bring epsilon above the limit.
  bool is_budget_spent() const;
  double elapsed_s(Time now) const { return before_s_ + lived_s(now); }
  // 0 before the first round.
  double rounds_per_s(Time now) const;
  // Fills in the checkpoint's counts.
  void write(Time now, Checkpoint& checkpoint) const;

  const RunStatus& run() const { return run_; }
  std::optional<double> consensus_distance() const { return progress_.distance; }
  std::string drift() const { return drift_.warning(); }  // empty: none
  Duration compute() const { return compute_; }
  Duration evaluation() const { return evaluation_; }  // of that
  Duration mix() const { return mix_; }
  // From the beginning to the end of the last round, without pauses.
  Duration lived() const { return lived_; }

 private:
  // Seconds of training, without pauses: in this life, and in all.
  Duration lived(Time now) const { return paused_at_.value_or(now) - begun_at_ - paused_; }
  double lived_s(Time now) const { return seconds(lived(now)); }
  void set_codec(const optim::CodecReport& report);
  void set_steps(Time now, const optim::Stats& stats);

  std::optional<double> epsilon_;
  RunStatus run_;
  Progress progress_;
  DriftWatch drift_;
  Duration compute_{}, evaluation_{}, mix_{}, lived_{};
  double before_s_ = 0;  // of training, in earlier lives
  Time begun_at_{};      // in this one
  Time stepped_at_{};    // the last time
  std::uint64_t begun_round_ = 0;
  std::optional<Time> paused_at_;
  Duration paused_{};  // all earlier pauses
};

}  // namespace starling::gossip
