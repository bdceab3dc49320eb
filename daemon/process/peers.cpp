#include "daemon/process/peers.h"

#include <utility>

#include "daemon/process/clock.h"

namespace starling::daemon {
namespace {

using gossip::Plane;

// The span of a sending that begins now; nothing for a message without a vector.
std::optional<TraceSpan> vector_span(const gossip::Send& send, const std::string& name) {
  const auto* round = std::get_if<gossip::Round>(&send.message.body);
  const std::size_t bytes = send.message.payload.size() - send.from;
  if (!round || bytes == 0) return std::nullopt;
  return TraceSpan{.kind = TraceSpan::Kind::send,
                   .from = now(),
                   .round = round->round,
                   .neighbor = name,
                   .bytes = bytes};
}

}  // namespace

const gossip::Contact* Peers::find(NodeId node) const {
  const auto found = contacts_.find(node);
  return found == contacts_.end() ? nullptr : &found->second;
}

void Peers::act(gossip::Reach& reach) {
  if (!reach.contact.name.empty()) {
    contacts_[reach.node] = std::move(reach.contact);
    return;
  }
  contacts_.erase(reach.node);
  transport_.reach(reach.node, std::nullopt);
}

void Peers::know(const SeedName& seed) {
  if (seed.key) named_keys_[to_string(seed.at)] = *seed.key;
}

std::optional<gossip::Transport::Address> Peers::address_of(const gossip::Contact& contact) {
  const Endpoint& place = contact.control;
  if (place.port == 0) return gossip::Transport::Address{place};  // the node cannot be dialled
  const auto at = names_.find_or_look_up(place);
  if (!at) return std::nullopt;
  if (!guard_.key()) return gossip::Transport::Address{*at};
  const auto key = key_of(contact);
  return key ? std::optional(gossip::Transport::Address{*at, curve_key(*key)}) : std::nullopt;
}

// A node found by a seed may announce a host name that this machine cannot resolve.
std::optional<gossip::Transport::Address> Peers::way_to(NodeId node,
                                                        const gossip::Contact& contact) {
  const auto at = address_of(contact);
  return at || is_numeric(contact.control) ? at : transport_.dialled(node);
}

// Asks the node itself if no other source has its key.
std::optional<PublicKey> Peers::key_of(const gossip::Contact& contact) {
  if (contact.key) return contact.key;
  const auto known = named_keys_.find(to_string(contact.control));
  if (known != named_keys_.end()) return known->second;
  const auto at = names_.find_or_look_up(contact.control);
  if (!at) return std::nullopt;
  const auto key = questions_.find_or_ask(*at);
  if (key || questions_.is_overdue(*at)) asked_.push_back({contact.control, key.has_value()});
  return key;
}

// Sends even if the address is unknown: the node may have dialled this one.
void Peers::act(gossip::Send& send) {
  const gossip::Contact* contact = find(send.to);
  if (!contact) return;
  if (const auto at = way_to(send.to, *contact)) transport_.reach(send.to, at);
  if (gossip::kind_of(send.message.body).invites_vectors) transport_.open(send.to, Plane::bulk);
  std::optional<TraceSpan> span = vector_span(send, contact->name);
  const Plane plane = gossip::kind_of(send.message.body).plane;
  transport_.send(send.to, plane, cutter_.cut(std::move(send.message), send.from));
  if (!span) return;
  span->to = now();
  trace_.add(*std::move(span));
}

void Peers::act(gossip::Introduce& introduce) {
  if (introduce.asker &&
      transport_.answer(*introduce.asker, cutter_.cut(gossip::Message(introduce.message))))
    return;
  if (introduce.to.port == 0) return;
  const gossip::Contact there{.name = {}, .control = introduce.to, .key = introduce.key};
  if (const auto to = introduce.of ? way_to(*introduce.of, there) : address_of(there))
    transport_.send(*to, Plane::control, cutter_.cut(std::move(introduce.message)));
  else if (introduce.of && names_.is_unknown(introduce.to))
    nowhere_.push_back(introduce.to);
}

void Peers::act(gossip::Abandon& abandon) {
  if (const auto at = names_.find_or_look_up(abandon.at))
    transport_.hang_up(gossip::Transport::Address{*at}, Plane::control);
}

void Peers::act(gossip::ConnectProbe& probe) {
  const gossip::Contact* contact = probe.of ? find(*probe.of) : nullptr;
  if (probe.of && !contact) return;
  const Endpoint& at = contact ? contact->control : probe.at;
  if (at.port == 0) return;
  if (const auto address = names_.find_or_look_up(at)) prober_.probe({probe.of, at}, *address);
}

void Peers::take_findings(const std::function<void(gossip::Input)>& take) {
  questions_.take();
  for (const Endpoint& at : std::exchange(nowhere_, {})) take(gossip::Unanswered{{}, at});
  for (gossip::KeyAsked& asked : std::exchange(asked_, {})) take(std::move(asked));
  prober_.look([&](const ConnectProber::Target& target, ConnectProber::Finding finding) {
    names_.doubt(target.at);
    if (finding == ConnectProber::Finding::refused)
      take(gossip::Refused{target.of, target.at});
    else
      take(gossip::Unanswered{target.of, target.at});
  });
}

}  // namespace starling::daemon
