// Exchange: in each round offers a vector to the neighbours, waits as the schedule says, and
// averages. The Scheduler decides which peers a round offers to, which vectors it lacks and when it
// has waited enough. Rounds wait again for a late neighbour as soon as it is heard.
// Options::missing says what becomes of a vector that did not come in time: its pair is averaged
// late (late), the vector heard last stands in (reuse), or its weight stays with this node (self).
//
// Each end of an edge sends with its vector the share of the difference that it allows; the pair's
// weight is the smaller of the two. So both ends use the same weight even if their views of the
// members differ.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/edges/fleet_means.h"
#include "gossip/edges/links.h"
#include "gossip/edges/mixing_meter.h"
#include "gossip/edges/neighbor.h"
#include "gossip/edges/round_counter.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/sessions.h"
#include "gossip/edges/wait_meter.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class Exchange {
 public:
  explicit Exchange(const Options& options);

  // The links may have changed: forgets neighbours that are gone, and offers to new neighbours on
  // edges whose vectors are not paired.
  void links_changed(Time now, const Links& links, const Roster& members, Outbox& out);
  // Sends what the trainer offers in the current round. REQUIRES done.is_offer.
  void offer(Time now, optim::Done& done, const Links& links, Outbox& out);
  // Whether a neighbour waits for an answer between rounds. answer() sends it; call that after all
  // whole pairs have been averaged.
  bool is_asked(const Links& links) const { return asker(links) != nullptr; }
  void answer(Time now, Payload payload, const Links& links, Outbox& out);
  void receive(Time now, const Envelope& from, const Round& message, Payload payload,
               const Links& links, const Roster& members, Outbox& out);
  // No process listens at `control`: rounds do not wait for that neighbour until it is heard again.
  void refused(const Endpoint& control, const Links& links);

  // Asks for vectors that are overdue, and tells its estimates over edges that carried no vector
  // for a period. Returns the neighbours that this round has waited for longer than usual, each
  // once a round.
  std::vector<NodeId> tick(Time now, const Links& links, Outbox& out);
  // When to call tick() next.
  Time next_tick() const {
    return std::min({sessions_.deadline(), next_ask_, next_doubt_, next_tell_});
  }

  // The round whose vectors are exchanged.
  std::uint64_t round() const { return rounds_.round(); }
  RoundCounter& rounds() { return rounds_; }
  // Whether the round of the last offer may end.
  bool complete(Time now, const Links& links) const;
  // When complete() may become true by time alone.
  Time deadline(const Links& links) const;
  // Ends the round and returns what to average with. The next round is the current one + 1, or that
  // of the neighbour furthest ahead if this node fell out of step.
  std::vector<optim::MixTerm> finish_round(Time now, const Links& links, Outbox& out);

  // Whether this node offers no more vectors for now. REQUIRES that the round has ended.
  void rest(bool is_resting);
  // The pairs that both ends have offered and that were not averaged yet, also of edges that close;
  // once both ends have averaged all of them, they have averaged the same.
  std::vector<optim::MixTerm> take_pairs();
  Sessions& sessions() { return sessions_; }

  // Notes what the trainer found out about the vectors of a round.
  void note(Time now, const optim::Done& done);
  FleetMeans& means() { return means_; }
  const WaitMeter& waits() const { return waits_; }
  // Writes the edges, the times waited, and reasons such as "going on without node-3: last heard
  // 2.1 s ago, patience 0.8 s" into `status`.
  void describe(Time now, const Links& links, Status& status) const;

 private:
  friend class EdgeMemory;
  // ---- rounds
  Neighbor& meet(NodeId peer);
  Turn turn() const;
  StreamView view_of(const Link& link) const;
  std::vector<StreamView> views(const Links& links) const;
  const Link* asker(const Links& links) const;
  void greet(Time now, const Links& links, Outbox& out);
  void end_wait(Time now, const Links& links, std::optional<NodeId> given_up, Outbox& out);
  std::optional<NodeId> mark_late(Time now, const std::vector<StreamView>& streams);
  void tell(Time now, const Links& links, Outbox& out);
  void doubt(Time now, const Links& links, std::vector<NodeId>& doubted);
  void ask(Time now, const Links& links, Outbox& out);
  bool is_paired(const Link& link) const;
  void take_newest(const Links& links, std::vector<optim::MixTerm>& terms);
  void tell_first(const Links& links, Outbox& out);
  // ---- messages
  Payload offer_for(const Link& link) const;
  void send_offer(Time now, const Link& link, Outbox& out);
  bool offer_pair(Time now, const Link& link, const Neighbor& neighbor, const Payload& payload,
                  Round& message);
  double span_of(const Neighbor& neighbor) const;
  bool is_current(const Envelope& from, const Round& message, const Link& link) const;
  Sessions::Heard hear_pairs(Time now, const Envelope& from, const Round& message, Payload payload,
                             const Links& links, Outbox& out);
  void hear_round(Time now, Neighbor& neighbor, const Round& message);
  void measure(Time now, const Link& link, Neighbor& neighbor, const Round& message,
               std::size_t bytes, Outbox& out);
  bool is_likely(Time now, const Round& message, NodeId peer, const Roster& members) const;
  bool has_witness(const Round& message, NodeId peer, const Roster& members) const;
  bool believes(Time now, const Round& message, NodeId peer, const Roster& members);
  Duration pace() const;
  // ---- for people
  std::vector<EdgeStatus> edge_statuses(const Links& links) const;
  void add_reasons(Time now, const Links& links, Status& status) const;
  std::string network_reason(const std::vector<EdgeStatus>& edges) const;

  Options options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::optional<NodeId> partner_;  // of the current offer
  MixingMeter mixing_;
  std::uint64_t probe_ = 0;  // of the current offer
  NewestStream::Rules newest_rules_;
  RoundCounter rounds_;
  std::uint64_t offered_round_ = 0;
  double offered_share_ = 0;  // of the current offer
  Payload offer_;
  std::map<std::uint64_t, Payload> edge_offers_;  // by edge id
  double path_ = 0;                               // sum of the learning rates of all local steps
  double path_before_ = 0;                        // path_ before the steps of the current offer
  double partner_path_ = 0;  // path_ at the last vector that was offered to anybody
  WaitMeter waits_;
  Recent pair_times_;  // from an offer to its answer
  NodeId slowest_{};   // the neighbour whose vector came last in the last round
  std::map<NodeId, Neighbor> neighbors_;
  std::set<NodeId> paused_;                           // neighbours, by the members' records
  std::pair<std::uint64_t, std::uint64_t> versions_;  // of links and members, as last followed
  Time next_ask_ = kNever, next_doubt_ = kNever, next_tell_ = kNever;
  std::map<NodeId, Time> told_;  // when an estimate was last sent to each neighbour
  Sessions sessions_;            // of the edges whose vectors are paired
  bool is_resting_ = false;
  FleetMeans means_;
};

}  // namespace starling::gossip
