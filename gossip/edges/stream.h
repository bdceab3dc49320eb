// Stream: one end of the conversation over one opening of an edge. It numbers this end's messages,
// notes which of them the peer has seen, retransmits lost vectors, and plans requests: messages
// that want an acknowledgement (Round::asks). Sessions builds exactly-once delivery on it,
// NewestStream delivery of the newest vector.
//
// Retransmission is selective repeat. Over TCP a vector is late, not lost, unless the connection
// was replaced or a queue dropped it. A connection keeps the order, so a vector is certainly lost
// when the peer has seen a message that was sent after it, a later vector or a request, but not the
// vector. No vector is retransmitted before that, however late it is. A vector that arrived in part
// is retransmitted from its first missing chunk on.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/edges/send_window.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// The first pause between two requests over this link; it grows from there.
Duration first_pause(const Link& link);
// The longest pause. Larger: more time is lost when many messages are lost. Smaller: more small
// messages to a neighbour that is merely slow.
inline constexpr Duration kPauseLimit = std::chrono::seconds(1);
// The longest pause on a closed edge. Larger: the last pairs of an edge are averaged later at one
// end. Smaller: a node that did not run for a minute finds more requests of closed edges.
inline constexpr Duration kClosingPauseLimit = std::chrono::seconds(8);
// The shortest pause, and the pause between requests before the first offer. The initial one is
// also the most that round trips add to the shortest. Longer: a lost message costs more time.
// Shorter: more small messages over a slow link.
inline constexpr Duration kPauseLeast = std::chrono::milliseconds(10);
inline constexpr Duration kPauseInitial = std::chrono::milliseconds(500);

class Stream {
 public:
  // ---- numbers of messages
  // Writes the next number of this end and the peer's highest one into `message`.
  void number(Round& message);
  // The number of this end's last message.
  std::uint64_t order() const { return order_; }
  // The highest number of the peer's messages.
  std::uint64_t heard() const { return heard_; }
  // Takes the numbers of the peer's message, and notes in `sent` which messages the peer has seen.
  // Ignores a number that this end never gave.
  void hear(const Round& message, SendWindow& sent);
  // Sets the round that this end waits for, until a message of the peer is of it; 0: none.
  void await_round(std::uint64_t round) { awaited_round_ = round; }
  bool awaits_round() const { return awaited_round_ > 0; }
  // Retransmits the vectors of `sent` that are lost as the peer's message `heard` shows. `header`
  // is the part that every message of this end has. Returns the payload bytes.
  std::uint64_t retransmit(SendWindow& sent, const Round& heard, const Round& header, NodeId peer,
                           Outbox& out);

  // ---- requests for an acknowledgement
  // Makes a numbered message a request.
  void ask(Time now, Round& message);
  // Whether to answer the peer's request with one: the peer may lack a vector of `sent`, and no
  // request of the last `pause` that was sent after the vector is unanswered. Only the
  // acknowledgement of a later message shows whether the vector is lost.
  bool may_ask_back(Time now, const SendWindow& sent, Duration pause) const;

  // ---- the time of the next request
  // kNever: none is planned.
  Time ask_at() const { return ask_at_; }
  bool is_planned() const { return ask_at_ != kNever; }
  void plan(Time at) { ask_at_ = at; }
  // Plans the next request after one sent now. The pause grows.
  void back_off(Time now, bool is_closing = false);
  // The pause between the next request and the one after it.
  Duration pause() const { return pause_; }
  void set_pause(Duration pause) { pause_ = pause; }

 private:
  std::uint64_t order_ = 0;  // the number of the last message sent
  std::uint64_t heard_ = 0;  // the highest order of the peer's messages
  std::uint64_t awaited_round_ = 0;
  std::uint64_t question_ = 0;  // the order of the last request
  Time asked_at_{};             // when that message was sent
  Time ask_at_ = kNever;
  Duration pause_{};
};

}  // namespace starling::gossip
