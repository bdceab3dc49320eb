// Training: the order of jobs. A round absorbs what the last round brought, takes local steps and
// offers. If the algorithm overlaps, the round offers first and takes its steps while the vectors
// travel. Between rounds of the schedule `pairwise`, a neighbour that waits gets an answer: absorb,
// offer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/edges/exchange.h"
#include "gossip/edges/links.h"
#include "gossip/edges/step_pace.h"
#include "gossip/node/donor.h"
#include "gossip/node/saver.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class Training {
 public:
  // `pace`: measures the rounds and says how many local steps they have; null: the trainer's
  // options say how many. `saver`: decides which jobs copy the state for a checkpoint; null: none.
  // Both outlive this.
  explicit Training(const Options& options, StepPace* pace = nullptr, Saver* saver = nullptr)
      : options_(options), pace_(pace), saver_(saver) {}

  // Starts with the round after `round`, the round of an adopted model, or 0. `before`: goes on
  // counting from that; null: there is no earlier life to go on from.
  void start(Time now, std::uint64_t round, Exchange& exchange, const Links& links, Outbox& out,
             const Checkpoint* before = nullptr);
  void trained(Time now, optim::Done done, Exchange& exchange, const Links& links, Outbox& out);
  // Begins the next round, or an answer, when the exchange allows.
  void advance(Time now, Exchange& exchange, const Links& links, Outbox& out);
  Time deadline(const Exchange& exchange, const Links& links) const;
  // Begins no more rounds; averages the pairs of edges that close. Returns whether nothing is left
  // to do.
  bool wind_up(Exchange& exchange, Outbox& out);

  // Ends with the round under way, and begins no more until resume(). Both may be repeated.
  void pause() { pause_wanted_ = true; }
  void resume() { pause_wanted_ = false; }

  // If the donor lacks a snapshot, the next job makes one too; after the last round, and in a
  // pause, a job of its own does.
  void want_snapshot(Donor& donor, Exchange& exchange, Outbox& out);
  // While the training rests, or with `ends` winds up, a job of its own copies the state where the
  // saver wants a checkpoint.
  void want_checkpoint(Time now, const Exchange& exchange, const Links& links, Outbox& out,
                       bool ends = false);
  // The data assignment to use from the next job on.
  void reassign(std::shared_ptr<const optim::Shard> shard) { shard_ = std::move(shard); }
  void set_workload(const optim::Workload& workload);

  // Until the last round, at the pace so far; nothing where no round or time ends the training.
  std::optional<double> remaining_s(Time now) const;
  bool started() const { return started_; }
  bool finished() const { return finished_; }
  bool is_paused() const { return is_paused_; }
  const std::optional<std::string>& problem() const { return problem_; }
  const RunStatus& run() const { return run_; }  // without RunStatus::problem
  std::optional<double> consensus_distance() const { return distance_; }
  Duration compute() const { return compute_; }
  Duration mix() const { return mix_; }

 private:
  void begin_round(Time now, std::vector<optim::MixTerm> mix, bool absorb, Exchange& exchange,
                   const Links& links, Outbox& out);
  void go_on(Time now, Exchange& exchange, const Links& links, Outbox& out);
  void begin_answer(Exchange& exchange, const Links& links, Outbox& out);
  // Of the next round; 0: the trainer's options say how many.
  std::size_t chosen_steps() const { return pace_ ? pace_->steps() : 0; }
  void measure(Time now, bool has_ended, const Exchange& exchange);
  void record(Time now, const optim::Done& done, Exchange& exchange);
  void report(Outbox& out);
  void end_round(Time now, Exchange& exchange, Outbox& out);
  bool begins_checkpoint(Time now, std::uint64_t round, bool rests, const Exchange& exchange,
                         const Links& links);
  Checkpoint checkpoint_of(Time now, std::uint64_t round, const Exchange& exchange,
                           const Links& links) const;
  // Of training, without pauses: in this life, and in all.
  double lived_s(Time now) const;
  double elapsed_s(Time now) const { return before_s_ + lived_s(now); }
  bool goal_reached() const;
  // The round that stop.rounds ends with. REQUIRES such a goal.
  std::uint64_t last_round() const { return options_.goal.rounds + run_.uncounted; }
  std::string shortfall() const;

  Options options_;
  StepPace* pace_;
  Saver* saver_;
  double before_s_ = 0;  // of training, in earlier lives
  bool started_ = false, finished_ = false;
  std::size_t jobs_in_flight_ = 0;
  bool offered_ = false;  // the offer of this round was made
  bool answers_ = false;  // the job in flight makes an answer to a neighbour
  bool last_round_ = false;
  bool pause_wanted_ = false, pauses_ = false;  // the second: the job in flight ends in a pause
  bool is_paused_ = false;
  Time paused_at_{};
  Duration paused_{};  // all pauses before
  bool snapshot_wanted_ = false;
  bool copies_ = false;  // the job in flight copies the state, and is no part of a round
  Time started_at_{};
  std::uint64_t started_round_ = 0;
  std::optional<std::uint64_t> evaluated_round_;
  std::shared_ptr<const optim::Shard> shard_;
  std::optional<std::string> problem_;
  RunStatus run_;
  Progress progress_;
  std::optional<double> distance_;
  Duration compute_{}, mix_{};
  struct {
    Time begun{};
    std::size_t steps = 0;
    Duration mix{};
  } under_way_;  // of the round
};

}  // namespace starling::gossip
