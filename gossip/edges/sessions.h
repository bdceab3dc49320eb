// Sessions: the ledgers of all edges, those that are open and those that close, and the messages
// that keep both ends of each at the same account. A session is one life of an edge, named by the
// epochs of its two ends; payloads of another life are never paired with its own.
//
// Retransmission is selective repeat. Over TCP a vector is late, not lost, unless the connection
// was replaced or a queue dropped it. A connection keeps the order, so a vector is lost for certain
// when the other end has seen something that was sent behind it, a later vector or a question, and
// the vector has not come. Nothing is sent again before that, however late it is, and a vector that
// came in part is sent from its first missing chunk on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/edge_ledger.h"
#include "gossip/edges/links.h"
#include "gossip/members/roster.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// ---- asking for what may be lost
// From one question over this link to the next, at first.
Duration first_pause(const Link& link);
// The longest between two. Larger: more time lost where much is; smaller: more small messages where
// a neighbour is merely slow.
inline constexpr Duration kPauseLimit = std::chrono::seconds(1);

class Sessions {
 public:
  struct Mixable {
    NodeId peer;
    std::uint64_t edge = 0;  // its life
    EdgeLedger::Pair pair;
  };
  enum class Heard { fresh, known, foreign };
  // How long a round waits for the other end before it asks, and from one question to the next when
  // it does not wait any more.
  struct Waits {
    Duration usual{};
    Duration idle{};
  };

  // Closes the sessions whose link is gone or began anew; forgets those of lives that ended.
  void follow(Time now, const Links& links, const Roster& members, Outbox& out);

  // ---- one round
  // Takes the vector into the ledger of the edge, unless that one sits the round out, or shall, and
  // writes into `message` what the other end needs. Returns whether the vector is to be sent.
  bool offer(Time now, const Link& link, EdgeVector own, bool skips_round, const Waits& waits,
             Round& message);
  // The round waits for nobody any more.
  void go_on(Time now);
  // The pairs of the open session with that peer; all zero where there is none.
  struct PairState {
    bool has_gap = false;     // a vector of the other end was lost or overtaken: a later one came
    bool is_waiting = false;  // this end's half of a pair waits for the other end's
    bool is_asked = false;    // the other end's half waits for this end's
    std::uint64_t next_round = 0;  // EdgeLedger::round_of_next()
  };
  PairState pairs(NodeId peer) const;
  // Whole pairs of all sessions, each given once.
  std::vector<Mixable> take();
  // Whether take() would give any.
  bool has_pairs() const;

  // ---- messages
  // Of foreign sessions nothing is kept. `is_idle`: no offer will follow soon to say what came.
  Heard receive(Time now, const Envelope& from, const Round& message, Payload payload,
                const Links& links, bool is_idle, Outbox& out);
  // So many bytes of a transfer that is under way have come; see transfer.h.
  void hear_part(Time now, NodeId peer, std::uint64_t transfer, std::size_t bytes);
  void tick(Time now, Outbox& out);
  Time deadline() const;
  // Peers whose count of the vectors contradicts this node's, since the last call: a message was
  // wrong, and no pair may ever be whole again. Their edges are to begin anew.
  std::vector<NodeId> take_broken() { return std::exchange(broken_, {}); }

  // ---- the end
  void close_all(Time now, Outbox& out);
  // No session has a pair that one end may have mixed and the other not.
  bool is_settled() const;
  // Sessions that close and are not settled.
  std::size_t unsettled() const;
  // Open sessions with a pair that is late: one end may have mixed it and the other not.
  std::size_t late() const;
  // Sessions that were forgotten before they were settled, because too many were.
  std::uint64_t abandoned() const { return abandoned_; }
  // Payload bytes of vectors that were sent once more, to this peer in this life of the edge.
  std::uint64_t repeated_bytes(NodeId peer) const;
  // Bytes of vectors that were sent and that the peer has not said to have.
  std::uint64_t unconfirmed_bytes(NodeId peer) const;

 private:
  struct Session {
    NodeId peer;
    std::uint64_t edge = 0;
    std::uint64_t incarnation = 0;  // of the peer
    std::uint64_t epoch = 0, peer_epoch = 0;
    Endpoint bulk;  // of the peer
    EdgeLedger ledger;
    std::uint64_t current = 0;        // the number of the last offer; 0: sat out
    std::uint64_t skipped_round = 0;  // the round of the last offer, where it sat out
    std::uint64_t order = 0;          // of the last message sent
    std::uint64_t heard = 0;          // the highest order heard
    std::uint64_t question = 0;       // the order of the last message that asked
    Time asked_at{};                  // when that was sent
    std::size_t partial = 0;          // bytes of the first missing vector that have come
    std::uint64_t repeated_bytes = 0;
    Time broken_at = kNever;  // unless the link ends before
    bool progressed = false;  // something new was heard since the last round
    Time ask_at = kNever;
    Duration pause{};        // from one question to the next
    Duration least_pause{};  // the shortest of this round
    Duration idle_pause{};   // the same where nobody waits

    bool is_of(const Link& link) const;
    bool has_unanswered() const { return question > ledger.sent().seen(); }
  };

  Session* find(const Envelope& from, const Round& message);
  Session* find_or_open(const Envelope& from, const Round& message, const Links& links);
  Session& open(const Link& link);
  void write(Session& session, Round& message) const;
  void find_contradiction(Time now, Session& session, const Round& message);
  bool take_in(Session& session, const Round& message, Payload payload);
  void plan_question(Time now, Session& session, bool is_answered) const;
  bool shall_ask_back(Time now, const Session& session, const Round& message) const;
  void say(Time now, Session& session, bool asks, Outbox& out) const;
  void send_lost(Session& session, const Round& message, Outbox& out) const;
  void begin_closing(Time now, Session session, Outbox& out);
  template <class Visit>
  void for_each(Visit visit);

  std::map<NodeId, Session> open_;
  std::deque<Session> closing_;  // and settled ones, which still answer
  std::uint64_t abandoned_ = 0;
  std::vector<NodeId> broken_;
};

}  // namespace starling::gossip
