// NewestStream: delivery of the newest vector on one edge, where older ones may be lost: directed
// edges, exchange.missing other than `late`, and Fanout::per_edge with a loose schedule. Sessions
// is for edges whose vectors are paired; Stream retransmits the vectors of both.
#pragma once

#include <cstdint>
#include <optional>

#include "base/payload.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/edges/send_window.h"
#include "gossip/edges/stream.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// A vector received from the peer.
struct HeardVector : EdgeVector {
  bool is_taken = false;  // averaged at least once
};

class NewestStream {
 public:
  struct Rules {
    bool once = false;      // a vector is averaged only once: each peer is sent a different one
    bool by_round = false;  // prefer the vector of this round to a newer one
    bool reuses = true;     // use an older vector in place of this round's
  };
  static Rules rules_of(const Options& options, bool by_round);

  // ---- this end's vector
  // `own` is this end's newest vector, and `message` is to carry it. The payload is empty on an
  // edge that carries no vectors to the peer. Writes this end's numbers and acknowledgements into
  // `message`.
  void offer(const Link& link, EdgeVector own, Round& message);
  // The round waits for the peer's vector: plans a request for after `usual` and a pause.
  void wait(Time now, const Link& link, Duration usual);
  Time ask_at() const { return stream_.ask_at(); }
  void stop_asking() { stream_.plan(kNever); }
  // Requests an acknowledgement now, and plans the next request after a growing pause.
  void ask(Time now, const Link& link, Outbox& out);
  // Takes the peer's acknowledgement, retransmits this end's vector if it is lost, and sends an
  // acknowledgement if the peer requests one. Returns the payload bytes retransmitted.
  std::uint64_t hear(Time now, const Link& link, const Round& message, Outbox& out);

  // ---- the peer's vectors
  void receive(EdgeVector vector);
  // Whether the peer's newest vector was not averaged yet.
  bool has_news() const { return latest_ && !latest_->is_taken; }
  // The vector to average with in `round`; null if there is none, or none that may be used again.
  HeardVector* vector_for(std::uint64_t round, const Rules& rules);

 private:
  void begin(const Link& link);
  Round header(const Link& link) const;
  void say(Time now, const Link& link, bool asks, Outbox& out);

  std::uint64_t edge_ = 0;  // edge id that stream_ and sent_ belong to
  Stream stream_;
  SendWindow sent_;                    // keeps the newest vector alone
  std::optional<HeardVector> latest_;  // the newest vector of the peer
  std::optional<HeardVector> before_;  // the vector before it
};

}  // namespace starling::gossip
