// Neighbors: the state of the peers at the other ends of this node's edges, apart from Sessions:
// their newest rounds, how long rounds wait for them, and the edges' status for people. A round
// calls begin_round(), then tick() while it waits, then end_round().
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/edges/links.h"
#include "gossip/edges/newest_stream.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/rate_ratio.h"
#include "gossip/edges/refusals.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/sessions.h"
#include "gossip/edges/wait_meter.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"
#include "gossip/wire/link_meter.h"

namespace starling::gossip {

struct Neighbor {
  // ---- the peer's vectors
  std::uint64_t round = 0;           // the newest round in the peer's messages; 0: none
  Time heard{};                      // when the first message of that round arrived
  Time came{};                       // when the peer's last vector had arrived
  Duration under_way{};              // the transit time of that vector, latency included
  Time progress{};                   // when more bytes of the peer's first vector arrived
  std::size_t partial = 0;           // the bytes of that vector that have arrived
  std::uint64_t unlikely_round = 0;  // the peer's last round that was not believed; 0: none
  NewestStream newest;               // for an edge whose vectors are not paired
  // ---- this node's vectors
  std::uint64_t offered_edge = 0;  // id of the edge that the offer went over; 0: not sent
  bool offered_out = false;        // the edge carried vectors to the peer when the offer was sent
  Time offered{};                  // when the last offer of a round went to the peer
  Time first_offered{};            // when the first did; 0: none yet
  double offered_path = 0;         // Offering::path at the last vector that was offered to the peer
  double span = 0;                 // Round::span of that vector
  std::size_t unshortened = 0;     // its EdgeOffer::unshortened
  RateRatio rates;                 // of both ends' local steps
  // ---- waiting for the peer
  Patience patience;
  bool late = false;        // the patience ran out; no round waits until the peer sends again
  bool rests = false;       // no process listens at the peer's address
  bool is_doubted = false;  // the peer was doubted in this round
  Refusals refusals;
  // ---- for people
  bool averaged = false;   // a vector of the peer was averaged
  int doubtful = 0;        // accepted estimates until the warning about a refused one ends
  LinkMeter meter;         // of the peer's vectors
  EdgeStatus status = {};  // the part counted here; statuses() completes it

  // Forgets the vectors of both ends. The span of the next one offered begins at `path`.
  void begin_anew(double path);
  // Records an estimate of the fleet's means from the peer.
  void hear_estimate(bool is_believed);
  // Records that a message of the peer is of a newer round than all before.
  void hear(Time now, std::uint64_t newer);
  // `bytes` bytes of an incomplete vector have arrived. A round waits for the peer's first vector
  // as long as bytes arrive: the speed of the link is not known yet.
  void hear_part(Time now, std::size_t bytes) {
    if (round == 0 && bytes > partial) partial = bytes, progress = now;
  }
  // Measures the link by the peer's message, which carried a vector of `bytes` bytes.
  void measure(Time now, const Link& link, const Round& message, std::size_t bytes, Outbox& out);
};

class Neighbors {
 public:
  // `timing` outlives this.
  explicit Neighbors(const Timing& timing) : timing_(timing) {}

  // Forgets neighbours without a link, and reads in the members' records which are paused or have
  // finished. Returns whether links or members have changed since the last call.
  bool follow(const Links& links, const Roster& members);
  // The neighbour's state, created if it is new. The span of the first vector to a new neighbour
  // begins at `path`; see Offering.
  Neighbor& meet(NodeId peer, double path);
  // Null: not met.
  Neighbor* find(NodeId peer);
  const std::map<NodeId, Neighbor>& all() const { return all_; }
  // No process listens at the peer's address: no round waits for the peer until it sends again.
  void refused(NodeId peer);
  // The shortest time of a round, of this node and the second fastest neighbour; 0: unknown.
  Duration pace(const Recent& own) const;

  // ---- a round
  // This node begins to offer. `unmeasured`: the patience with a neighbour whose intervals are not
  // measured.
  void begin_round(Time now, std::uint64_t round, RoundTurns turns, Duration unmeasured);
  // The edge as a scheduler sees it in the round of the last begin_round(), and all active edges.
  EdgeView view(const Link& link, const Sessions& sessions) const;
  std::vector<EdgeView> views(const Links& links, const Sessions& sessions) const;
  // An offer was sent over an edge whose vectors are not paired: plans a request to the peer.
  void expect(Time now, const Link& link, Neighbor& neighbor);
  // Sends requests where vectors are overdue on edges without pairs. Returns the neighbours that
  // this round has waited for longer than usual, each once a round: they may be dead.
  std::vector<NodeId> tick(Time now, const Wait& wait, const Links& links, Outbox& out);
  // When to call tick() next.
  Time deadline() const { return std::min(next_ask_, next_doubt_); }
  // The last vector that arrived since then; without a sender if none did.
  WaitMeter::Last last_come(Time since, const Links& links) const;
  // Ends the round: a neighbour whose patience has run out is late. Returns the newly late one
  // whose last message is oldest.
  std::optional<NodeId> end_round(Time now, const Wait& wait, const Links& links);

  // Records the trainer's findings about the neighbours' vectors.
  void note(const optim::Done& done);
  // A neighbour whose edge is to be closed for `pause`, because its vectors are refused repeatedly.
  // take_barred() returns each once.
  struct Barred {
    NodeId peer;
    Duration pause{};
    std::string reason;
  };
  std::vector<Barred> take_barred();

  // ---- for people
  // Names neighbours whose vectors are refused, and one whose trainer seems to draw the same
  // batches as this node's.
  std::vector<std::string> warnings(const Links& links) const;
  // Names the edges that do not open, or carry no vector to this node, with the cause if known.
  std::vector<std::string> mute(Time now, const Links& links, const Roster& members) const;
  // Whether this node has averaged with some neighbour.
  bool has_averaged() const { return has_averaged_; }
  // Reports neighbours averaged with for the first time, in `round`.
  void tell_first(std::uint64_t round, const Links& links, Outbox& out);
  // The edges by name. `round`: of this node.
  std::vector<EdgeStatus> statuses(std::uint64_t round, const Links& links,
                                   const Sessions& sessions) const;
  // The phase of a peer that takes no part in this round: paused, or finished before the round.
  std::optional<Phase> resting(NodeId peer) const;
  bool has_finished(NodeId peer) const {
    return resting(peer).value_or(Phase::paused) != Phase::paused;
  }

 private:
  struct Resting {
    Phase phase;
    std::uint64_t round;  // the last round that the peer has finished
  };
  const Neighbor& known(NodeId peer) const;
  std::vector<std::string> equal_trainers(const Links& links) const;
  std::vector<std::string> unequal_rates(const Links& links) const;
  Duration patience(const Neighbor& neighbor) const;
  void ask(Time now, const Wait& wait, const Links& links, Outbox& out);
  std::vector<NodeId> doubt(Time now, const Wait& wait);

  const Timing& timing_;
  std::map<NodeId, Neighbor> all_;
  std::map<NodeId, Resting> resting_;                 // by the member records
  std::uint64_t round_ = 0;                           // of the last begin_round()
  std::pair<std::uint64_t, std::uint64_t> versions_;  // of links and members at the last follow()
  RoundTurns turns_;                                  // as of begin_round()
  Duration unmeasured_{};                             // as of begin_round()
  bool has_averaged_ = false;
  bool loop_moved_ = false;  // the last local steps' optim::Report::loop_moved
  Time next_ask_ = kNever, next_doubt_ = kNever;
};

// How long a vector that is not shortened takes over each edge, as the peers measure their links.
std::vector<ExchangeBudget::Edge> loads_of(const Neighbors& neighbors);

}  // namespace starling::gossip
