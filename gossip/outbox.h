// Outbox: collects the outputs of a node's parts, puts the node's envelope on each message, and has
// the node's records in it signed.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "gossip/io.h"
#include "gossip/trust/notary.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

class Outbox {
 public:
  // `credentials`: null without keys.
  Outbox(std::uint64_t cluster, NodeId self, std::uint64_t incarnation,
         std::shared_ptr<Credentials> credentials = nullptr)
      : envelope_{cluster, self, incarnation, 0}, notary_(std::move(credentials), cluster, self) {}

  // Sets where the outputs of one step go. REQUIRES that `out` outlives the step.
  void begin(Outputs& out) { out_ = &out; }

  // Sends a message. A message beyond a limit of the protocol is only counted: its receiver would
  // refuse it.
  void send(NodeId to, Body body, Payload payload = {}, std::size_t from = 0) {
    if (!seal(body)) return;
    sent_bytes_ += payload.size() - from;
    put(Send{to, Message{envelope_, std::move(body), std::move(payload)}, from});
  }
  // The same to an address.
  void introduce(const Endpoint& to, Body body) {
    if (seal(body)) put(Introduce{to, Message{envelope_, std::move(body), {}}});
  }
  // The same to a member's address, over a connection that is dialled for it if there is none.
  void call(const Endpoint& at, const std::optional<PublicKey>& key, NodeId of, Body body) {
    if (seal(body))
      put(Introduce{.to = at, .message = {envelope_, std::move(body), {}}, .key = key, .of = of});
  }
  // An answer to a stranger; see Introduce.
  void answer(NodeId asker, const Endpoint& at, Body body) {
    if (seal(body)) put(Introduce{at, Message{envelope_, std::move(body), {}}, asker});
  }
  void train(optim::Job job) { put(Train{std::move(job)}); }
  void event(Event::Kind kind, std::string text) { put(Event{kind, std::move(text)}); }
  // Takes the alternative, not an Output: moving the variant draws a false warning at -O3.
  template <class What>
  void put(What what) {
    out_->emplace_back(std::move(what));
  }

  // Messages carry this incarnation from now on.
  void set_incarnation(std::uint64_t incarnation) { envelope_.incarnation = incarnation; }
  // Payload bytes handed to the driver since the start.
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  // Messages not sent because they exceeded a limit of the protocol, by kind.
  const std::map<std::string_view, std::uint64_t>& unsendable() const { return unsendable_; }
  const Envelope& envelope() const { return envelope_; }
  // Whose signature the messages carry.
  Notary& notary() { return notary_; }

 private:
  // Signs and numbers the message. False: it is beyond a limit.
  bool seal(Body& body) {
    notary_.sign(body);
    if (!is_within_limits(body)) {
      ++unsendable_[kind_of(body).name];
      return false;
    }
    ++envelope_.sequence;
    return true;
  }

  Envelope envelope_;
  Notary notary_;
  std::uint64_t sent_bytes_ = 0;
  std::map<std::string_view, std::uint64_t> unsendable_;
  Outputs* out_ = nullptr;
};

}  // namespace starling::gossip
