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

// The current round.
struct CurrentRound {
  std::uint64_t round = 0;
  Time since{};                         // when this node's vector was offered
  std::optional<Duration> pair_time{};  // recent median time from an offer to its answer
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
    // Vectors of different rounds are averaged in normal operation: pairs complete late and at
    // uneven times, so their spans are lengthened; see Offering::span_to().
    bool mixes_rounds = false;
    // A peer whose half of a pair waits is answered between rounds; see Training.
    bool answers = false;
    // The vector of a round goes to the partner of that round only.
    bool by_partner = false;
    // A round offers twice to each neighbour, parts and then means.
    bool in_slices = false;
  };

  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const Rules& rules() const { return rules_; }

  // The share that a node with `degree` neighbours allows a pair, above 0, at most 1/2; see Round.
  virtual double share(std::size_t degree) const = 0;
  // The peers to which the vector of this round is sent.
  virtual std::vector<NodeId> choose(EdgeViews edges) = 0;
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
  // arrived or is waited for. With answers: no pair waits, or its answer is within the patience.
  bool hears(Time now, const CurrentRound& current, const EdgeView& edge, bool is_far_ahead) const;
  // Until when the round waits for a vector of the peer; Time{} if the round does not wait for it.
  Time waits_until(const CurrentRound& current, const EdgeView& edge, bool is_far_ahead) const;

 protected:
  explicit Scheduler(Rules rules) : rules_(rules) {}

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
