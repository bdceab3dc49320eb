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
#include "gossip/edges/patience.h"
#include "gossip/options.h"

namespace starling::gossip {

// The pairs of an edge whose vectors are paired; all zero elsewhere.
struct PairState {
  bool has_gap = false;          // a vector of the peer was lost or overtaken: a later one arrived
  bool is_owed = false;          // a vector that the peer has offered is missing
  bool is_waiting = false;       // this end's half of a pair waits for the peer's half
  bool is_asked = false;         // the peer's half of a pair waits for this end's half
  std::uint64_t next_round = 0;  // EdgeLedger::round_of_next()
  // In slices: this end's next vector is a mean; and the round of the peer's part whose mean this
  // end waits for, 0: none.
  bool owes_mean = false;
  std::uint64_t mean_of = 0;
};

// One active edge, as a scheduler sees it.
struct EdgeView {
  NodeId peer;
  bool in = false, out = false;  // whether vectors go from the peer, and to the peer
  bool was_offered = false;      // the vector of this round was sent to the peer
  std::uint64_t round = 0;       // the newest round in the peer's messages; 0: none
  bool has_news = false;         // a vector of the peer waits to be averaged
  PairState pairs = {};
  bool is_late = false;     // rounds go on without the peer until it sends
  bool is_partner = false;  // the peer is this node's partner in the round's matching
  bool rests = false;  // the peer has finished or is paused, or no process listens at its address
  // When the peer's last new round, or more of its first vector, arrived; and when the last offer
  // was sent to it.
  Time heard{}, offered{};
  Duration patience{};  // how long a round waits for the peer

  bool is_two_way() const { return in && out; }
};
using EdgeViews = std::span<const EdgeView>;

// Sums of learning rates (Round::span): that of the local steps since a vector, and the vector's
// own span.
struct SpanSince {
  double steps = 0, before = 0;
};

// The current round.
struct CurrentRound {
  std::uint64_t round = 0;
  Time since{};                         // when this node's vector was offered
  std::optional<Duration> pair_time{};  // recent median time from an offer to its answer
};

// What this node has done for its neighbours in this round.
struct AnswerState {
  bool is_unanswered = false;  // no answer was begun
  bool is_resting = false;     // the node offers no more vectors for now
};

class Scheduler {
 public:
  // The properties that do not change from round to round.
  struct Rules {
    // A node up to this many rounds behind a neighbour catches up round by round; a node further
    // behind jumps. 0: the rounds of different nodes are unrelated.
    std::uint64_t rounds_in_step = 0;
    // Offers are made in the round of the neighbour that is furthest ahead.
    bool joins_furthest = false;
    // A round averages with the neighbours' vectors of the same round, if they have arrived.
    bool by_round = false;
    // A pair of vectors of different rounds is left out at both its ends.
    bool same_round_pairs = false;
    // Vectors of different rounds are averaged in normal operation; see span().
    bool mixes_rounds = false;
    // A round offers this many vectors to each neighbour. The last one moves the model.
    std::uint64_t vectors = 1;
    // Some peers get another vector before the round ends; see answers().
    bool answers = false;
  };

  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const Rules& rules() const { return rules_; }

  // The share that a node with `degree` neighbours allows a pair, above 0, at most 1/2; see Round.
  virtual double share(std::size_t degree) const = 0;
  // The peers to which the vector of this round is sent.
  virtual std::vector<NodeId> choose(EdgeViews edges) = 0;
  // Whether a neighbour whose edge opens after the offer of a round is offered that vector.
  virtual bool offers_late() const { return true; }
  // The peers that get another vector now. `may_finish`: the round has waited enough.
  virtual std::vector<NodeId> answers(EdgeViews, const AnswerState&, bool /*may_finish*/) const {
    return {};
  }
  // Whether the peer's next vector answers one of this node, so that no offer follows it.
  virtual bool is_answered_by(const PairState&) const { return false; }
  // Whether a peer is late whose vector a round lacks when it ends.
  virtual bool marks_late() const { return true; }
  // The span that this end sends with a vector. `edge`: of the last vector over that edge; `any`:
  // of the last vector to any peer.
  virtual double span(const SpanSince& edge, const SpanSince& any) const;
  // Takes the time at which a vector of a newer round arrived: `rounds` after the peer's previous
  // one, and, if it is of the round of this node's offer to the peer or a later one, `waited` after
  // that offer.
  virtual void measure(Time now, std::uint64_t rounds, std::optional<Duration> waited,
                       Patience& patience) const;
  // When the peer's vector may count as lost: how long after the offer.
  virtual Duration usual(const EdgeView&, const Patience& patience) const {
    return patience.usual();
  }
  // Whether a round waits until the peer is in it, even if none of the peer's vectors is missing:
  // the message that the peer skips it may be lost.
  virtual bool waits_for_round(const EdgeView&) const { return rules_.by_round; }
  // Whether the vector of the round is encoded for the edge.
  virtual bool offers_over(const EdgeView& edge, std::uint64_t round) const {
    return !rules_.by_round || !skips_round(edge, round);
  }
  // Whether this node skips the round on an edge whose vectors are paired.
  virtual bool skips_round(const EdgeView& edge, std::uint64_t round) const = 0;
  // Whether the round lacks a vector of the peer.
  virtual bool lacks(const EdgeView& edge, std::uint64_t round) const = 0;
  // Whether the round has waited enough.
  virtual bool may_finish(Time now, const CurrentRound& current, EdgeViews edges) const = 0;
  // When may_finish() may become true by time alone.
  virtual Time deadline(const CurrentRound& current, EdgeViews edges) const = 0;

  // The round after `round`, if this node follows neighbours in round `furthest` (RoundCounter).
  std::uint64_t next_round(std::uint64_t round, std::uint64_t furthest) const;
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
  explicit Scheduler(Rules rules) : rules_(rules) {}
  // The part of the previous span that a span is at least. Smaller: a long wait is forgotten
  // sooner, and in `async` under loss .8 is too small.
  static constexpr double kFade = 0.95;

 private:
  const Rules rules_;
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
