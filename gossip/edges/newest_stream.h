// NewestStream: the messages of one edge on which only the newest vector counts and older ones may
// be lost: directed edges, exchange.missing other than `late`, and Delivery::per_edge with a loose
// schedule. Sessions is for edges whose vectors are paired.
//
// A vector that a round waits for may be lost. A connection keeps the order of messages, so the
// vector is certainly lost when the peer has seen a message that was sent after it but not the
// vector; then it is retransmitted.
#pragma once

#include <cstdint>
#include <optional>

#include "base/payload.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// A vector that came from the peer.
struct HeardVector {
  std::uint64_t round = 0;
  double share = 0;  // that the peer allows; see Round
  Payload payload;
  bool is_taken = false;  // averaged with, at least once
};

class NewestStream {
 public:
  struct Rules {
    bool once = false;      // a vector is averaged with only once: each peer gets another
    bool by_round = false;  // the vector of this round is preferred to a newer one
    bool reuses = true;     // an older vector stands in for the one of this round
  };
  static Rules rules_of(const Options& options, bool by_round);

  // ---- this end's vector
  // Writes the numbers and acknowledgements of this end into `message`. `is_vector`: the message
  // carries this end's newest vector.
  void number(const Link& link, bool is_vector, Round& message);
  // The round waits for the peer's vector: plans a question for when `usual` and a pause have
  // passed.
  void wait(Time now, const Link& link, Duration usual);
  Time ask_at() const { return ask_at_; }
  void stop_asking() { ask_at_ = kNever; }
  // Asks now, and plans the next question after a growing pause.
  void ask(Time now, const Link& link, Outbox& out);
  // Takes what the peer says of this end's vectors. Returns whether the newest one, of `round`, was
  // lost.
  bool hear(const Link& link, const Round& message, std::uint64_t round);
  // Answers a message that asks, after hear().
  void answer(Time now, const Link& link, const Round& message, std::uint64_t round, Outbox& out);

  // ---- the peer's vectors
  void receive(HeardVector vector);
  // Whether the peer's newest vector was not averaged with yet.
  bool has_news() const { return latest_ && !latest_->is_taken; }
  // The vector to average with in `round`; null if there is none, or none that may be used again.
  HeardVector* vector_for(std::uint64_t round, const Rules& rules);

 private:
  void begin(const Link& link);
  void say(Time now, const Link& link, bool asks, Outbox& out);
  bool may_ask_back(Time now) const;

  std::uint64_t edge_ = 0;                   // edge id that the members below belong to
  std::uint64_t order_ = 0, heard_ = 0;      // of the last message sent; the highest one heard
  std::uint64_t vector_ = 0, question_ = 0;  // the order of the last vector and question sent
  std::uint64_t seen_ = 0;                   // the highest order that the peer has seen
  Time asked_at_{}, ask_at_ = kNever;
  Duration pause_{};                   // from the next question to the one after it
  std::optional<HeardVector> latest_;  // the newest vector heard
  std::optional<HeardVector> before_;  // the vector heard before it
};

}  // namespace starling::gossip
