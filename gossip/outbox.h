// Outbox: how the parts of a node speak. It stamps each message with the node's envelope.
#pragma once

#include <utility>

#include "gossip/io.h"

namespace starling::gossip {

class Outbox {
 public:
  Outbox(std::uint64_t cluster, NodeId self, std::uint64_t incarnation)
      : envelope_{cluster, self, incarnation, 0} {}

  // Where outputs go during one step. REQUIRES that it outlives the step.
  void begin(Outputs& out) { out_ = &out; }

  void send(const Endpoint& to, Body body, Payload payload = {}, std::size_t from = 0) {
    ++envelope_.sequence;
    sent_bytes_ += payload.size() - from;
    put(Send{to, Message{envelope_, std::move(body), std::move(payload)}, from});
  }
  void train(optim::Job job) { put(Train{std::move(job)}); }
  void event(Event::Kind kind, std::string text) { put(Event{kind, std::move(text)}); }
  // By its own type, not as an Output: moving the variant draws a false warning at -O3.
  template <class What>
  void put(What what) {
    out_->emplace_back(std::move(what));
  }

  // The node speaks as of this incarnation from now on.
  void set_incarnation(std::uint64_t incarnation) { envelope_.incarnation = incarnation; }
  // Payload bytes handed to the driver since the start.
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  const Envelope& envelope() const { return envelope_; }

 private:
  Envelope envelope_;
  std::uint64_t sent_bytes_ = 0;
  Outputs* out_ = nullptr;
};

}  // namespace starling::gossip
