// Exchange: offer a vector, wait for what the schedule waits for, average, go on.
//   rounds    the neighbours' vectors of the same round, or those of a quorum of them. It waits for
//             every neighbour that lives, at the pace of the slowest, but for none longer than its
//             patience; then the round goes on without, and the pair is mixed late (missing=late),
//             with the vector heard last (reuse) or without any (self). A neighbour that was late
//             is waited for again as soon as it is heard. A node none of whose neighbours is in
//             step waits for them for longer
//   ssp       the same, but a neighbour's vector may be `staleness` rounds old
//   async     news of any one neighbour, whoever is first: it averages the pairs that are whole, or
//             with what it heard last
//   pairwise  a vector goes to one neighbour, by chance, which answers with one of its own; both
//             are averaged with weight 1/2. The next local step waits for it where flows are
//             counted, else the one after it, and for as long as answers take
// Where vectors of different rounds are averaged (ssp, async, a quorum) pairs weigh half, and an
// edge with one that is not whole takes no other.
// The weight of an edge elsewhere, 1 / (1 + max(d_i, d_j)), uses the degrees the two ends had in
// that round, which travel with the vectors: so both ends use the same weight without agreeing on a
// view.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/edges/aggregate.h"
#include "gossip/edges/links.h"
#include "gossip/edges/pairing.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/sessions.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"

namespace starling::gossip {

class Exchange {
 public:
  explicit Exchange(const Options& options) : options_(options), pairing_(options) {}

  // Rounds go on from `round`; the next one is round + 1. Only forward.
  void start_from(std::uint64_t round) { round_ = std::max(round_, round); }
  // The links may have changed: forgets neighbours that are gone, offers to new ones where vectors
  // are not numbered.
  void links_changed(Time now, const Links& links, const Membership& members, Outbox& out);
  void set_degree(std::uint32_t degree) { degree_ = degree; }
  // What the trainer offers in the current round; REQUIRES done.is_offer.
  void offer(Time now, optim::Done& done, const Links& links, Outbox& out);
  // Pairwise: whether a neighbour waits for an answer, which is to be offered when all pairs that
  // are whole have been averaged; and the answer.
  bool is_asked(const Links& links) const;
  void answer(Time now, Payload payload, const Links& links, Outbox& out);
  void receive(Time now, const Envelope& from, const Round& message, Payload payload,
               const Links& links, const Membership& members, Outbox& out);
  // So many bytes of a vector that is under way have come.
  void hear_part(Time now, NodeId peer, std::uint64_t transfer, std::size_t bytes) {
    sessions_.hear_part(now, peer, transfer, bytes);
  }
  // Nobody listens there: rounds wait for that neighbour only when it is heard again.
  void refused(const Endpoint& control, const Links& links);
  // Asks for what should have come long ago.
  void tick(Time now, const Links& links, Outbox& out);

  // The round whose vectors are exchanged.
  std::uint64_t round() const { return round_; }
  // Whether the round of the last offer needs nobody any more.
  bool complete(Time now, const Links& links) const;
  // When complete() may become true by time alone.
  Time deadline(const Links& links) const;
  // When tick() has something to do.
  Time next_tick() const { return std::min({sessions_.deadline(), next_ask_, next_doubt_}); }
  // Ends the round: what to average with. The next round is the current one + 1, or that of the
  // neighbour furthest ahead when this node fell out of step.
  std::vector<optim::MixTerm> finish_round(Time now, const Links& links, Outbox& out);

  // Nothing is offered any more.
  void rest() { is_resting_ = true; }
  // Closes all edges; the pairs of the vectors that both ends offered can still be taken, as terms,
  // and once all are, both ends have averaged the same.
  void close(Time now, Outbox& out);
  bool is_settled() const { return sessions_.is_settled(); }
  const Sessions& sessions() const { return sessions_; }
  bool has_pairs() const { return sessions_.has_pairs(); }
  std::vector<optim::MixTerm> take_pairs();

  // Neighbours that this round has waited for longer than usual, since the last call.
  std::vector<NodeId> take_doubted() { return std::exchange(doubted_, {}); }
  // Neighbours whose edges are to begin anew; see Sessions.
  std::vector<NodeId> take_broken() { return sessions_.take_broken(); }
  // For Job::edges.
  std::vector<std::uint64_t> edges(const Links& links) const;
  // What the trainer found out about the vectors of a round.
  void note(const optim::Done& done);

  Aggregate& aggregate() { return aggregate_; }
  Duration waited() const { return waited_; }
  // The part of waited() in which a vector was under way.
  Duration waited_for_network() const { return waited_for_network_; }
  std::vector<EdgeStatus> status(const Links& links) const;
  // "waiting for node-3: last heard 2.1 s ago, patience 0.8 s"
  std::vector<std::string> reasons(Time now, const Links& links) const;

 private:
  struct Vector {
    std::uint64_t round = 0;
    std::uint32_t degree = 0;
    Payload payload;
    bool is_taken = false;  // averaged with, at least once
  };
  // What is known of the last vector that was sent to a neighbour, and of questions behind it; see
  // Round.
  struct Asking {
    Time at = kNever;                        // when to ask
    Duration pause{};                        // to the next question
    std::uint64_t order = 0, heard = 0;      // of the last message sent, the highest one heard
    std::uint64_t vector = 0, question = 0;  // the order of the last
    std::uint64_t seen = 0;                  // the highest order that the other end has seen
    Time asked_at{};
    std::uint64_t life = 0;  // of the edge

    bool may_ask_back(Time now) const;
  };
  struct Neighbor {
    std::optional<Vector> latest;  // of the highest round heard
    std::optional<Vector> before;  // of the highest round below that
    Patience patience;
    Time last_heard{};
    bool averaged = false;    // with it, at least once
    bool late = false;        // its patience ran out; nobody waits until it is heard again
    bool rests = false;       // it has finished, or nobody listens at its address
    bool is_doubted = false;  // in this round
    LinkMeter meter;          // of its vectors
    double send_rate = 0;     // of vectors of this node, as the neighbour says
    Time came{};              // its last vector
    double offered_path = 0;  // path_ when the last vector was offered to it
    double span = 0;          // of the last vector, as it was said
    double weight = 0;
    std::uint64_t unlikely_round = 0;  // the last one that was heard of it
    Asking asking;                     // where vectors are not numbered
    std::uint64_t sent_bytes = 0, received_bytes = 0;
    std::optional<double> distance;
    std::map<std::string, std::uint64_t> rejected;
  };

  void measure(Time now, const Link& link, const Round& message, std::size_t bytes);
  void account(Time now, const Links& links);
  bool is_likely(Time now, const Round& message, NodeId peer, const Membership& members) const;
  bool believes(Time now, const Round& message, NodeId peer, const Membership& members);
  void doubt(Time now, const Links& links);
  bool is_numbered(const Link& link) const;
  bool has_news(const Link& link, const Neighbor& neighbor) const;
  bool lacks_vector(const Link& link, const Neighbor& neighbor) const;
  bool was_offered(const Link& link) const;
  bool is_far_ahead(const Links& links) const;
  bool waits_for(const Links& links, const Link& link, Time now) const;
  Time waits_until(const Links& links, const Neighbor& neighbor) const;
  Vector* vector_for(Neighbor& neighbor) const;
  Payload offer_for(const Link& link) const;
  bool is_in_quorum(const Links& links) const;
  void ask(Time now, const Links& links, const Link& link, Outbox& out);
  void say(Time now, const Link& link, bool asks, Outbox& out);
  Asking& asking_of(const Link& link);
  void number(const Link& link, Round& message);
  void send_again(const Link& link, Outbox& out);
  void reply(Time now, const Link& link, const Round& message, Outbox& out);
  void mark_late(Time now, const Links& links);
  std::uint64_t next_round(const Links& links) const;
  std::uint64_t rounds_in_step() const;
  void propose(Time now, const Links& links, Outbox& out);
  bool sits_out(const Link& link, const Neighbor& neighbor) const;
  double span_of(const Neighbor& neighbor) const;
  void send_offer(Time now, const Link& link, Outbox& out);
  void add_heard(const Links& links, std::vector<optim::MixTerm>& terms);
  void tell_first(const Links& links, Outbox& out);
  std::uint64_t furthest_round(const Links& links) const;
  std::string network_reason(const std::vector<EdgeStatus>& edges) const;

  Options options_;
  std::uint64_t round_ = 0;
  std::uint32_t degree_ = 0;
  std::uint32_t offered_degree_ = 0;  // when the current offer was sent
  Payload offer_;
  std::map<std::uint64_t, Payload> edge_offers_;  // by the life of the edge
  std::uint64_t offered_round_ = 0;
  double path_ = 0;         // sum of the learning rates of all local steps
  double path_before_ = 0;  // the same before those of the current offer
  Recent round_times_;
  Time wait_since_{};
  Duration waited_{}, waited_for_network_{};
  Time finished_at_{};  // the last round
  NetworkShare network_share_;
  NodeId slowest_{};  // the neighbour whose vector came last in the last round
  std::map<NodeId, Neighbor> neighbors_;
  std::map<NodeId, std::uint64_t> offered_to_;  // peer -> epoch of the link the offer went over
  std::pair<std::uint64_t, std::uint64_t> versions_;  // of links and members, as last followed
  Time next_ask_ = kNever;
  Time next_doubt_ = kNever;
  Pairing pairing_;
  Sessions sessions_;  // of the edges whose vectors are numbered
  bool is_resting_ = false;
  std::vector<NodeId> doubted_;
  Aggregate aggregate_;
};

}  // namespace starling::gossip
