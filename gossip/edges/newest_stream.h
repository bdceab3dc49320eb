// NewestStream: one edge's conversation where vectors need not all come and only the newest counts
// (Delivery::newest): directed edges, exchange.missing other than `late`, and admm where nodes are
// of different rounds. The conversation of pairs, each of which is averaged exactly once, is
// Sessions.
//
// A vector that is waited for may be lost. A connection keeps the order of messages, so the vector
// is lost for certain when the peer has seen something that was sent behind it and has not got it;
// then it is sent again.
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
  double share = 0;  // of the peer; see Round
  Payload payload;
  bool is_taken = false;  // averaged with, at least once
};

class NewestStream {
 public:
  struct Rules {
    bool once = false;      // a vector is averaged with once, for each peer is told something else
    bool by_round = false;  // the vector of this round is preferred to a newer one
    bool reuses = true;     // an older one stands in for the one of this round
  };
  static Rules rules_of(const Options& options, bool by_round);

  // ---- this end's vector
  // Writes into `message` what the peer needs to know of this end; `is_vector`: the message stands
  // for this end's newest vector.
  void number(const Link& link, bool is_vector, Round& message);
  // The round waits for the peer's vector: asks when that is late by `usual`.
  void wait(Time now, const Link& link, Duration usual);
  Time ask_at() const { return ask_at_; }
  void stop_asking() { ask_at_ = kNever; }
  // Asks, and less often from time to time.
  void ask(Time now, const Link& link, Outbox& out);
  // What the peer says of this end's vectors, of which the newest is of `round`. Returns whether
  // that one was lost.
  bool hear(const Link& link, const Round& message, std::uint64_t round);
  // Answers a message that asks, after hear().
  void answer(Time now, const Link& link, const Round& message, std::uint64_t round, Outbox& out);

  // ---- the peer's vectors
  void receive(HeardVector vector);
  // Whether a vector came that was not averaged with yet.
  bool has_news() const { return latest_ && !latest_->is_taken; }
  // What to average with in that round; null where there is none, or none to be used again.
  HeardVector* vector_for(std::uint64_t round, const Rules& rules);

 private:
  void begin(const Link& link);
  void say(Time now, const Link& link, bool asks, Outbox& out);
  bool may_ask_back(Time now) const;

  std::uint64_t edge_ = 0;               // the life of the edge that all of the following is about
  std::uint64_t order_ = 0, heard_ = 0;  // of the last message sent, the highest one heard
  std::uint64_t vector_ = 0, question_ = 0;  // the order of the last that was sent
  std::uint64_t seen_ = 0;                   // the highest order that the peer has seen
  Time asked_at_{}, ask_at_ = kNever;
  Duration pause_{};                   // to the next question
  std::optional<HeardVector> latest_;  // of the highest round heard
  std::optional<HeardVector> before_;  // of the highest round below that
};

}  // namespace starling::gossip
