// Exchange: in each round offers a vector to the neighbours, waits as the schedule says, and
// averages. The order of calls: offer(); receive() and tick() until outcome() is not `open`;
// finish_round(). The Scheduler decides which peers a round offers to, which vectors it lacks and
// when it has waited enough. Rounds wait for a late neighbour again once it sends. Options::missing
// decides about a late vector: average its pair late (late), use the last vector again (reuse), or
// keep its weight at this node (self).
//
// Each end of an edge sends with its vector the share of the difference that it allows; the pair's
// weight is the smaller of the two. So both ends use the same weight even if they know different
// members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/edges/fleet_means.h"
#include "gossip/edges/links.h"
#include "gossip/edges/mixing_meter.h"
#include "gossip/edges/neighbors.h"
#include "gossip/edges/offering.h"
#include "gossip/edges/round_counter.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/sessions.h"
#include "gossip/edges/wait_meter.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

// A round waits, or has waited enough and no neighbour takes part, or some neighbour does.
enum class Outcome { open, unheard, heard };

class Exchange {
 public:
  // `options` outlive this. `before`: memory() of an earlier run of this node.
  explicit Exchange(const Options& options, const KeptExchange& before = {});

  // The options are others (form_of()): what was exchanged before counts no more. REQUIRES that no
  // session is open.
  void renew();
  // The links may have changed: forgets neighbours that are gone, and offers to new neighbours on
  // edges whose vectors are not paired.
  void links_changed(Time now, const Links& links, const Roster& members, Outbox& out);
  // Sends the trainer's offer of the current round. REQUIRES done.is_offer.
  void offer(Time now, optim::Done& done, const Links& links, Outbox& out);
  // Returns the job that makes an answer for a neighbour that waits between rounds, or the means of
  // a round in slices; nothing if no neighbour waits. The job averages all complete pairs first.
  // answer() sends its result.
  std::optional<optim::Job> begin_answer(Time now, const Links& links,
                                         const ExchangeBudget& budget);
  void answer(Time now, optim::Done& done, const Links& links, Outbox& out);
  void receive(Time now, const Envelope& from, const Round& message, Payload payload,
               const Links& links, const Roster& members, Outbox& out);
  Neighbors& neighbors() { return neighbors_; }

  // Sends requests where vectors are overdue, and estimates where none were sent for a period.
  // Returns the neighbours that this round has waited for longer than usual, each once a round.
  std::vector<NodeId> tick(Time now, const Links& links, Outbox& out);
  // When to call tick() next.
  Time next_tick() const {
    return std::min({sessions_.deadline(), neighbors_.deadline(), means_.deadline()});
  }

  // The round whose vectors are exchanged.
  RoundCounter& rounds() { return rounds_; }
  // Writes the edges of the job: `edges`, `ending` and, if it offers with Needs::in_order,
  // `offer_to`: the edges that may carry the offer, and their next numbers. For the trainer an edge
  // has ended once the neighbour has finished and its last round is over: an exact algorithm's
  // memory of the edge would pull towards an optimum with that neighbour, which moves no more.
  void write_edges(optim::Job& job, const Links& links, const ExchangeBudget& budget) const;
  // Whether the round of the last offer may end.
  Outcome outcome(Time now, const Links& links) const;
  // Whether a relay may end this round. A relay must not lead, because its rounds take no time: a
  // neighbour with data must be in this round, or all of these must have sent a vector since the
  // last. Without such neighbours, all must. Late and resting neighbours do not count.
  bool is_led(const Links& links, const Roster& members) const;
  // When outcome() may change by time alone.
  Time deadline(const Links& links) const;
  // Ends the round and returns the terms to average. The next round is the current one + 1, or that
  // of the neighbours ahead if this node is too far behind; see RoundCounter.
  std::vector<optim::MixTerm> finish_round(Time now, const Links& links, Outbox& out);

  // Sets whether this node offers no more vectors for now. REQUIRES that the round has ended.
  void rest(bool is_resting);
  // Takes the complete pairs that were not averaged yet, also of closing edges. Once both ends of
  // an edge have averaged all of them, both have averaged the same.
  std::vector<optim::MixTerm> take_pairs();
  Sessions& sessions() { return sessions_; }

  // Records the trainer's findings about the vectors of a round.
  void note(Time now, const optim::Done& done);
  FleetMeans& means() { return means_; }
  WaitMeter& waits() { return waits_; }
  // The exchange's part of a checkpoint. REQUIRES that the trainer has all pairs that were taken.
  KeptExchange memory(const Links& links) const;
  // Writes the edges with their encodings, the times waited, and reasons such as "going on without
  // node-3: last heard 2.1 s ago, patience 0.8 s" into `status`.
  void describe(Time now, const Links& links, const ExchangeBudget& budget, Status& status) const;

 private:
  Wait wait(const Links& links) const;
  // ---- messages to neighbours
  void greet(Time now, const Links& links, Outbox& out);
  void send_offer(Time now, const Link& link, Outbox& out);
  bool offer_pair(Time now, const Link& link, const Neighbor& neighbor, EdgeVector vector,
                  Round& message);
  // ---- messages from neighbours
  Sessions::Heard hear_pairs(Time now, const Envelope& from, const Round& message, Payload payload,
                             const Links& links, Outbox& out);
  void take_newest(const Links& links, std::vector<optim::MixTerm>& terms);
  void add_reasons(Time now, const Links& links, Status& status) const;

  const Options& options_;
  std::unique_ptr<Scheduler> scheduler_;
  RoundCounter rounds_;
  Offering offering_;
  Neighbors neighbors_;
  Sessions sessions_;  // of the edges whose vectors are paired
  MixingMeter mixing_;
  WaitMeter waits_;
  FleetMeans means_;
};

}  // namespace starling::gossip
