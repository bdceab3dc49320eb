// PairRules, LateRules: what a schedule decides on one edge: which vectors make pairs, and when the
// peer counts as late. Scheduler adds what it decides of a round.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/edges/patience.h"

namespace starling::topology {
struct SequenceRow;
}

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
  bool is_late = false;  // rounds go on without the peer until it sends
  // Whether the round uses the edge, and the weight of its pair where the graph changes from round
  // to round.
  bool in_round = true;
  double weight = 0;
  const topology::SequenceRow* sequence = nullptr;  // that the round is of; null: still
  bool rests = false;  // the peer has finished or is paused, or no process listens at its address
  // When the peer's last new round, or more of its first vector, arrived; and when the last offer
  // was sent to it.
  Time heard{}, offered{};
  Duration patience{};  // how long a round waits for the peer

  bool is_two_way() const { return in && out; }
  // Whether rounds wait for vectors of the peer.
  bool counts() const { return in && !is_late && !rests; }
};
using EdgeViews = std::span<const EdgeView>;

// Sums of learning rates (Round::span): that of the local steps since a vector, and the vector's
// own span.
struct SpanSince {
  double steps = 0, before = 0;
};
struct Spans {
  SpanSince edge;    // of the last vector over that edge
  SpanSince any;     // of the last vector to any peer
  double round = 0;  // the sum of the learning rates of the last local steps
  const topology::SequenceRow* sequence = nullptr;  // that the round is of; null: not known
};

class PairRules {
 public:
  virtual ~PairRules() = default;

  // Whether this node skips the round on an edge whose vectors are paired.
  virtual bool skips_round(const EdgeView& edge, std::uint64_t round) const = 0;
  // Whether the round lacks a vector of the peer.
  virtual bool lacks(const EdgeView& edge, std::uint64_t round) const = 0;
  // Whether the vector of the round is encoded for the edge.
  virtual bool offers_over(const EdgeView& edge, std::uint64_t round) const = 0;
  // Whether a round waits until the peer is in it, even if none of the peer's vectors is missing:
  // the message that the peer skips it may be lost.
  virtual bool waits_for_round(const EdgeView& edge) const = 0;
  // Whether the peer's next vector answers one of this node, so that no offer follows it.
  virtual bool is_answered_by(const PairState&) const { return false; }
  // The span that this end sends with a vector.
  virtual double span(const Spans& spans) const = 0;

 protected:
  // The part of the previous span that a span is at least. Smaller: a long wait is forgotten
  // sooner, and in `async` under loss .8 is too small.
  static constexpr double kFade = 0.95;
};

class LateRules {
 public:
  virtual ~LateRules() = default;

  // Takes the time at which a vector of a newer round arrived: `rounds` after the peer's previous
  // one, and, if it is of the round of this node's offer to the peer or a later one, `waited` after
  // that offer.
  virtual void measure(Time now, std::uint64_t /*rounds*/, std::optional<Duration> /*waited*/,
                       Patience& patience) const {
    patience.arrived(now);
  }
  // How long after the offer the peer's vector may count as lost.
  virtual Duration usual(const EdgeView&, const Patience& patience) const {
    return patience.usual();
  }
  // Whether a peer is late whose vector a round lacks when it ends.
  virtual bool marks_late() const { return true; }
  // Whether a neighbour whose edge opens after the offer of a round is offered that vector.
  virtual bool offers_late() const { return true; }
};

}  // namespace starling::gossip
