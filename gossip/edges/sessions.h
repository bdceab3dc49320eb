// Sessions: the ledgers of all open and closing edges, and the messages that keep the ledgers at
// both ends of an edge equal. A session is this end's part of one opening of an edge. The ends
// number the opening, each for itself (`epoch` and `peer_epoch`), and vectors of different openings
// are never paired. Stream retransmits what is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/edge_ledger.h"
#include "gossip/edges/links.h"
#include "gossip/edges/scheduler.h"
#include "gossip/edges/stream.h"
#include "gossip/members/roster.h"
#include "gossip/outbox.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

class Sessions {
 public:
  struct Mixable {
    NodeId peer;
    std::uint64_t edge = 0;  // the edge id of the session
    EdgeLedger::Pair pair;
  };
  // A received message is new, repeats a known vector, or belongs to no known session.
  enum class Heard { fresh, known, foreign };
  // `usual`: how long a round waits for the peer before it requests an acknowledgement. `idle`: the
  // pause between requests when no round waits. `for_round`: the round waits until the peer is in
  // it, even if no vector of the peer is missing: the message that the peer skips it may be lost.
  struct Waits {
    Duration usual{};
    Duration idle{};
    bool for_round = false;
  };

  explicit Sessions(EdgeLedger::Order order = {}) : order_(order) {}
  // Sessions that open from here on have that order. take() returns no pair of earlier ones, which
  // still answer the peer. REQUIRES that no session is open.
  void renew(EdgeLedger::Order order);

  // Closes the sessions whose link is gone or was reopened; forgets closing sessions whose peer's
  // incarnation has ended, once their pairs are taken.
  void follow(Time now, const Links& links, const Roster& members, Outbox& out);

  // ---- one round
  // Takes the vector into the edge's ledger, unless `skips_round` or the ledger takes no vector
  // now, and writes the numbers and acknowledgements of this end into `message`. Returns whether
  // the vector is to be sent.
  bool offer(Time now, const Link& link, EdgeVector own, bool skips_round, const Waits& waits,
             Round& message);
  // The number of the next vector over that edge; nothing if the edge takes none now.
  std::optional<std::uint64_t> next_number(const Link& link) const;
  // This end skips the round on all edges, except those on which it offers later.
  void skip(std::uint64_t round);
  // Ends the round, which waits for no peer any more.
  void go_on(Time now);
  // The state of the pairs with `peer` in the open session; all zero if there is none.
  PairState pairs(NodeId peer) const;
  // Returns the complete pairs of all sessions, each pair once.
  std::vector<Mixable> take();
  // A hash, independent of the order, of the numbers of all pairs taken from the open session with
  // `peer`; 0 if there is none.
  std::uint64_t taken(NodeId peer) const;
  // Whether take() would return any.
  bool has_pairs() const;
  // The edge ids of the closing sessions, of which take() may still return pairs.
  std::vector<std::uint64_t> ending() const;
  // A vector of the peer could not be decoded: the edge must be reopened.
  void reject(Time now, NodeId peer);

  // ---- messages
  // Drops a message of an unknown session (Heard::foreign). `is_idle`: no offer follows soon that
  // would acknowledge the vector.
  Heard receive(Time now, const Envelope& from, const Round& message, Payload payload,
                const Links& links, bool is_idle, Outbox& out);
  // part.bytes bytes of an incomplete transfer have arrived; see transfer.h.
  void hear_part(Time now, const Assembler::Part& part);
  void tick(Time now, Outbox& out);
  Time deadline() const;
  // Returns the peers, since the last call, whose counts of vectors contradict this node's: some
  // message was false, and no pair may ever be complete again. Their edges must be reopened.
  std::vector<NodeId> take_broken() { return std::exchange(broken_, {}); }

  // ---- the end
  void close_all(Time now, Outbox& out);
  // Whether no session is open, and none has a pair that only one end may have mixed. Sessions with
  // members that are dead or have left do not count: these answer no more.
  bool is_settled(const Roster& members) const;
  // The number of closing sessions that are not settled.
  std::size_t unsettled() const;
  // The number of open sessions with a late pair: one end may have mixed it and the other not.
  std::size_t late() const;
  // The number of sessions given up before they were settled, because too many were closing, or by
  // renew().
  std::uint64_t abandoned() const { return abandoned_; }
  // Payload bytes retransmitted to the peer in the open session.
  std::uint64_t repeated_bytes(NodeId peer) const;
  // Bytes of sent vectors that the peer has not acknowledged.
  std::uint64_t unconfirmed_bytes(NodeId peer) const;

 private:
  struct Session {
    NodeId peer;
    std::uint64_t edge = 0;
    std::uint64_t incarnation = 0;  // the peer's
    std::uint64_t epoch = 0, peer_epoch = 0;
    EdgeLedger ledger;
    std::uint64_t taken = 0;  // see Sessions::taken()
    Stream stream;
    std::uint64_t current = 0;        // the number of the last offer; 0: this end skipped the round
    std::uint64_t skipped_round = 0;  // the round of the last offer, if this end skipped it; else 0
    std::size_t partial = 0;          // bytes of the first missing vector that have arrived
    std::uint64_t repeated_bytes = 0;
    Time broken_at = kNever;   // when to report the edge as broken, unless its link ends before
    bool progressed = false;   // the peer acknowledged or sent something new since the last round
    Duration least_pause{};    // the shortest pause between requests in this round
    Duration idle_pause{};     // the pause when no round waits
    bool is_outdated = false;  // its vectors mean nothing any more

    bool is_of(const Link& link) const;
    // Whether the peer waits for a vector of this end that may be lost.
    bool must_ask_back(Time now, const Round& message) const;
  };

  Session* find_or_open(const Envelope& from, const Round& message, const Links& links);
  Session& open(const Link& link);
  void write_header(const Session& session, Round& message) const;
  void find_contradiction(Time now, Session& session, const Round& message);
  bool take_in(Session& session, const Round& message, Payload payload);
  void plan_question(Time now, Session& session, bool is_answered) const;
  void say(Time now, Session& session, bool asks, Outbox& out) const;
  void begin_closing(Time now, Session session, Outbox& out);
  template <class Visit>
  void for_each(Visit visit);

  EdgeLedger::Order order_;
  std::map<NodeId, Session> open_;
  std::deque<Session> closing_;      // includes settled sessions, which still answer
  std::uint64_t skipped_round_ = 0;  // set by skip(), for sessions that open after it
  std::uint64_t abandoned_ = 0;
  std::vector<NodeId> broken_;
};

}  // namespace starling::gossip
