// Scheduler: decides which peers exchange, and when a round has waited enough. Each
// exchange.schedule is one file and one row in schedules/ (see gossip/schedule.h). A scheduler sees
// the active edges and decides; Exchange sends, waits and averages, and knows no schedule by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/edges/edge_rules.h"
#include "gossip/options.h"

namespace starling::gossip {

// The current round.
struct CurrentRound {
  std::uint64_t round = 0;
  Time since{};                         // when this node's vector was offered
  std::optional<Duration> pair_time{};  // recent median time from an offer to its answer
  std::uint64_t rounds_a_turn = 1;      // RoundCounter::rounds_a_turn()
};

// What this node has done for its neighbours in this round.
struct AnswerState {
  bool is_unanswered = false;  // no answer was begun
  bool is_resting = false;     // the node offers no more vectors for now
};

class Scheduler : public PairRules, public LateRules {
 public:
  // The properties that do not change from round to round.
  struct Rules {
    // A node up to this many rounds behind a neighbour catches up round by round; a node further
    // behind jumps. Where nodes rest between turns (SequenceRow::rests), so many turns. 0: the
    // rounds of different nodes are unrelated.
    std::uint64_t rounds_in_step = 0;
    // Offers are made in the round of the neighbour that is furthest ahead.
    bool joins_furthest = false;
    // A round averages with the neighbours' vectors of the same round, if they have arrived.
    bool by_round = false;
    // A pair of vectors of different rounds is left out at both its ends.
    bool same_round_pairs = false;
    // A round offers this many vectors to each neighbour. The last one moves the model.
    std::uint64_t vectors = 1;
    // Some peers get another vector before the round ends; see answers().
    bool answers = false;
  };

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const Rules& rules() const { return rules_; }

  // The share that a node with `degree` neighbours allows a pair on the edge; see Round.
  virtual double share(const EdgeView& edge, std::size_t degree) const = 0;
  // The peers to which the vector of this round is sent.
  virtual std::vector<NodeId> choose(EdgeViews edges) = 0;
  // The peers that get another vector now. `may_finish`: the round has waited enough.
  virtual std::vector<NodeId> answers(EdgeViews, const AnswerState&, bool /*may_finish*/) const {
    return {};
  }
  // Whether the round has waited enough.
  virtual bool may_finish(Time now, const CurrentRound& current, EdgeViews edges) const = 0;
  // When may_finish() may become true by time alone.
  virtual Time deadline(const CurrentRound& current, EdgeViews edges) const = 0;

  double span(const Spans& spans) const override;
  bool offers_over(const EdgeView& edge, std::uint64_t round) const override {
    return !rules_.by_round || !skips_round(edge, round);
  }
  bool waits_for_round(const EdgeView&) const override { return rules_.by_round; }

  // The next round, if this node follows neighbours in round `furthest` (RoundCounter).
  std::uint64_t next_round(const CurrentRound& current, std::uint64_t furthest) const;
  // Whether this node is more than rounds_in_step ahead of all its neighbours. Alone it would only
  // train towards its own optimum.
  bool is_far_ahead(const CurrentRound& current, EdgeViews edges) const;
  // Whether the peer takes part in this round: it is neither late nor at rest, and its vector has
  // arrived or is waited for.
  virtual bool hears(Time now, const CurrentRound& current, const EdgeView& edge,
                     bool is_far_ahead) const;
  // Until when the round waits for a vector of the peer; Time{} if the round does not wait for it.
  Time waits_until(const CurrentRound& current, const EdgeView& edge, bool is_far_ahead) const;

 protected:
  Scheduler(const Options& options, Rules rules)
      : rules_(rules), mixes_rounds_(mixes_rounds(options)) {}

 private:
  const Rules rules_;
  const bool mixes_rounds_;
};

// How a round waits for the neighbours at one moment. The scheduler outlives this.
struct Wait {
  const Scheduler& scheduler;
  CurrentRound current;
  std::vector<EdgeView> edges;
  bool is_far_ahead = scheduler.is_far_ahead(current, edges);

  Time until(const EdgeView& edge) const {
    return scheduler.waits_until(current, edge, is_far_ahead);
  }
  bool hears_any(Time now) const {
    return std::ranges::any_of(edges, [&](const EdgeView& edge) {
      return scheduler.hears(now, current, edge, is_far_ahead);
    });
  }
};

}  // namespace starling::gossip
