// RunEnd: when the run ends, for the whole fleet. Each node judges the goals by the records of all
// members, and tells in its own after which round it wants the end: its vote. With b liars
// (Needs::liars) the (b + 1)-th lowest of the rounds told counts, so that no liar ends a run or
// keeps it from ending; among n members the (n - b)-th if that is fewer, but at least the first. A
// node that sees so many votes votes too. Of what goals are judged by, the b highest and the b
// lowest values do not count.
//
// Where rounds are in step, a node votes for stop.rounds from its first round on. Otherwise an end
// is a moment: it counts whatever the round is. An agreed end is never taken back.
//
// With data.refit (Options::refits) the agreed end is that of the training on which the model is
// judged. Half as many rounds follow, on all rows; then the run is over.
//
// To add a way to end a run: gossip/node/run_end.cpp and end_watch.cpp for when, closing.cpp,
// settlement.cpp, tally_tree.cpp and parties.cpp for how the models become one, training.cpp for
// the steps, a phase in life.h if nodes wait in it, what nodes tell of it in gossip/wire/member.h,
// people's words in daemon/setup/goal_words.cpp, daemon/cli/up/verdict.cpp (of starling run
// daemon/cli/command_run.cpp, of simulate sim/simulation.cpp), daemon/cli/ask/diagnosis.cpp,
// daemon/cli/terminal/display.cpp, gossip/report/sentence.cpp and daemon/rest/page/sentence.js, the
// trainer's in daemon/attach/external_run.cpp, EndStatus in daemon/rest/status_json.cpp, a law in
// sim/end_laws.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/round_counter.h"
#include "gossip/goal.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"

namespace starling::gossip {

class RunEnd {
 public:
  // This node's own progress.
  struct Own {
    std::uint64_t round = 0, uncounted = 0, samples = 0;
    double seconds = 0;
    double rounds_per_s = 0;
    const std::optional<optim::Evaluation>& evaluation;
    bool is_budget_spent = false;
  };

  // These outlive it.
  RunEnd(const Options& options, const RoundCounter& rounds) : options_(options), rounds_(rounds) {}

  // Judges the goals and counts the votes.
  void judge(const Own& own, const Roster& members, const Neighbors& neighbors);
  // A person wants the end: after that round, or as soon as all can know of it. 0: the latter.
  void order(std::uint64_t round) { ordered_ = round == 0 ? kSoon : round; }

  // The goals are others from `round` on: votes that were cast before do not count any more.
  void take_new_goal(std::uint64_t round);

  // The round of this node's vote, if so many of its rounds do not count; 0: none.
  std::uint64_t vote(std::uint64_t uncounted) const;
  // What the members' records tell of this node, as far as a goal needs it.
  using Evaluation = std::optional<optim::Evaluation>;
  std::uint64_t told_accuracy(const Evaluation& own) const;
  std::uint64_t told_loss(const Evaluation& own) const;
  // Whether no local step begins any more after `round`, of which so many do not count.
  bool is_over(std::uint64_t round, std::uint64_t uncounted) const;
  // Whether the steps after `round` are on all rows.
  bool refits(std::uint64_t round, std::uint64_t uncounted) const {
    return options_.refits && is_reached(round, uncounted);
  }
  // For how many rounds; 0: none, or the end is not known.
  std::uint64_t refit_rounds() const;
  // Rounds of the learning rate's schedule that the steps after `round` go through again.
  std::uint64_t repeated_rounds(std::uint64_t round, std::uint64_t uncounted) const {
    return refits(round, uncounted) ? refit_rounds() : 0;
  }
  // The round after which all end; nothing: it is not known.
  std::optional<std::uint64_t> agreed() const { return agreed_; }
  // Why: "600 rounds (stop.rounds)"; empty before a goal is reached.
  std::string reason() const;
  const FleetProgress& progress() const { return progress_; }
  // With stop.keep = best: the round of the evaluation at which the fleet's held-out loss was
  // least; 0: none, or the last models count.
  std::uint64_t best_round() const;
  // The rounds whose models the trainer keeps then: of the best evaluation and of the last one.
  std::optional<std::vector<std::uint64_t>> kept_rounds() const;
  // The one of these that is nearest to that round.
  std::uint64_t kept_round(std::uint64_t round) const;
  // What the model lacks of the goals that it has to reach, by its last evaluation; empty: nothing,
  // or the goals were reached before the end.
  std::string shortfall(const Evaluation& own) const;

 private:
  static constexpr std::uint64_t kSoon = UINT64_MAX;

  void see(const Own& own, const Roster& members, const Neighbors& neighbors);
  bool gains() const;
  void count_gain(const Own& own);
  void vote_for(const Own& own, const Roster& members);
  void count_votes(const Own& own, const Roster& members, const Neighbors& neighbors);
  void give_reason(const Own& own);
  bool is_reached(std::uint64_t round, std::uint64_t uncounted) const;

  const Options& options_;
  const RoundCounter& rounds_;
  FleetProgress progress_;
  std::optional<std::uint64_t> ordered_;
  std::uint64_t vote_ = 0;
  std::uint64_t goal_since_ = 0;  // the first round with the present goals
  std::optional<std::uint64_t> agreed_;
  bool has_come_ = false;       // enough others have come to the rounds of their votes
  bool is_moment_ = false;      // of the agreed end: it counts whatever the round is
  bool is_target_met_ = false;  // the goals that the model has to reach were reached
  std::string reason_;
  std::optional<double> least_loss_;  // of the fleet, at earlier evaluations than this node's last
  std::optional<double> last_loss_;   // of the fleet, at that one
  std::uint64_t best_round_ = 0;      // of the least loss
  std::uint64_t judged_round_ = 0;    // of this node's last evaluation that counts
  double judged_at_s_ = 0;            // when it was made
};

}  // namespace starling::gossip
