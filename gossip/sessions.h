// Sessions: the ledgers of all edges, those that are open and those that close, and the messages
// that keep both ends of each at the same account. A session is one life of an edge, named by the
// epochs of its two ends; payloads of another life are never paired with its own. What is not
// acknowledged is asked for, and sent again when the answer says that it did not come: connections
// keep the order, so that a question behind a large vector does not overtake it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edge_ledger.h"
#include "gossip/links.h"
#include "gossip/membership.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// ---- asking for what may be lost
// From the beginning of a wait over this link to the first question.
Duration first_pause(const Link& link);
// The longest between two. Larger: more time lost where much is; smaller: more small messages where
// a neighbour is merely slow.
inline constexpr Duration kPauseLimit = std::chrono::seconds(1);
// Up to this size a vector that may be under way is sent again without a question before.
inline constexpr std::size_t kSmallBytes = 32 << 10;

class Sessions {
 public:
  struct Mixable {
    NodeId peer;
    std::uint64_t edge = 0;  // its life
    EdgeLedger::Pair pair;
    bool is_current = false;  // its own vector is that of the last offer
  };
  enum class Heard { fresh, known, foreign };

  // Closes the sessions whose link is gone or began anew; forgets those of lives that ended.
  void follow(Time now, const Links& links, const Membership& members, Outbox& out);

  // ---- one round
  // Takes the vector into the ledger of the edge, unless that one sits the round out, or shall, and
  // writes into `message` what the other end needs. Returns whether the vector is to be sent.
  // Questions follow: soon while the round waits, after `pause` when it does not any more.
  bool offer(Time now, const Link& link, EdgeLedger::Vector own, bool sits_out, Duration pause,
             Round& message);
  // The round waits for nobody any more.
  void go_on(Time now);
  // Whether a vector of the other end was lost or overtaken: a later one has come.
  bool has_gap(NodeId peer) const;
  // Whole pairs of all sessions, each given once.
  std::vector<Mixable> take();
  // Whether an open session waits for the other end's half of a pair, or that one for this end's.
  bool is_waiting(NodeId peer) const;
  bool is_asked(NodeId peer) const;
  // Whether take() would give any.
  bool has_pairs() const;

  // ---- messages
  // Of foreign sessions nothing is kept. `is_idle`: no offer will follow soon to say what came.
  Heard receive(Time now, const Envelope& from, const Round& message, Payload payload,
                const Links& links, bool is_idle, Outbox& out);
  void tick(Time now, Outbox& out);
  Time deadline() const;

  // ---- the end
  void close_all(Time now, Outbox& out);
  // No session has a pair that one end may have mixed and the other not.
  bool is_settled() const;
  // Sessions that close and are not settled.
  std::size_t unsettled() const;
  // Sessions that were forgotten before they were settled, because too many were.
  std::uint64_t abandoned() const { return abandoned_; }

 private:
  struct Session {
    NodeId peer;
    std::uint64_t edge = 0;
    std::uint64_t incarnation = 0;  // of the peer
    std::uint64_t epoch = 0, peer_epoch = 0;
    Endpoint bulk;  // of the peer
    EdgeLedger ledger;
    std::uint64_t current = 0;  // the number of the last offer; 0: sat out
    std::uint64_t sat_out = 0;  // the round of the last offer, where it sat out
    std::uint64_t passed = 0;   // asked for up to this one, as the other end went on
    Time again_at{};            // nothing is sent again before
    bool progressed = false;    // something new was heard since the last round
    Time ask_at = kNever;
    Duration pause{};        // from one question to the next
    Duration least_pause{};  // the shortest of this round
    Duration patience{};     // the same where nobody waits

    bool is_of(const Link& link) const;
  };

  Session* find(const Envelope& from, const Round& message);
  Session& open(const Link& link);
  void write(const Session& session, Round& message) const;
  void say(const Session& session, Round::Word word, Outbox& out) const;
  void may_be_lost(Time now, Session& session, std::uint64_t index, Outbox& out) const;
  void send_again(Time now, Session& session, Outbox& out) const;
  void begin_closing(Time now, Session session, Outbox& out);
  template <class Visit>
  void for_each(Visit visit);

  std::map<NodeId, Session> open_;
  std::deque<Session> closing_;  // and settled ones, which still answer
  std::uint64_t abandoned_ = 0;
};

}  // namespace starling::gossip
