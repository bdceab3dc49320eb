#include "sim/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/check.h"
#include "gossip/transport/greeting.h"
#include "gossip/wire/connection_rules.h"
#include "sim/options.h"

namespace starling::sim {
namespace {

using Wire = gossip::Wire;
using Kind = gossip::Wire::Event::Kind;

// When TCP sends again what begins or ends a connection.
constexpr Duration kAgain = std::chrono::seconds(1);

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

Wire::Route route_of(Wires::End end, gossip::Plane plane) {
  const bool is_dialled = end % 2 == 0;
  return {is_dialled ? Wire::dialler(plane) : Wire::Socket::accepts, fmt::format_int(end).str()};
}

Wires::End end_of(const Wire::Route& route) {
  Wires::End end = -1;
  std::from_chars(route.name.data(), route.name.data() + route.name.size(), end);
  return end;
}

int retransmissions(Duration waited) {
  const auto times = static_cast<std::uint64_t>(waited / kRetransmission);
  return static_cast<int>(std::bit_width(times + 1)) - 1;
}

}  // namespace

// With the weight of its payload.
double Wires::bytes_of(const gossip::Frame& frame) const {
  return static_cast<double>(frame.header.size()) +
         network_->options().payload_weight * static_cast<double>(frame.payload.size());
}

Wires::Wires(Network& network, std::size_t nodes, const Time& now, Post post)
    : network_(&network), now_(&now), post_(std::move(post)) {
  machines_.reserve(nodes);
  for (std::size_t k = 0; k < nodes; ++k) {
    machines_.push_back({.wire = NodeWire(*this, k)});
    by_host_[host_of(k)] = k;
  }
}

void Wires::begin(std::size_t node, const Endpoint& control, bool is_hidden) {
  Machine& machine = machines_[node];
  ENSURE(!machine.runs, "a machine runs one process");
  machine.runs = true;
  machine.is_hidden = is_hidden;
  machine.control = control;
  if (control.port == 0) by_host_[control.host] = node;
}

void Wires::end(std::size_t node) {
  Machine& machine = machines_[node];
  machine.runs = false;
  machine.wire.clear();
  for (const End end : std::set(machine.ends)) close(end);
}

void Wires::forget(std::size_t node) {
  for (const End end : machines_[node].ends)
    if (Link* link = find(end); !std::exchange(link->is_forgotten, true)) ++counts_.forgotten;
}

std::optional<std::size_t> Wires::find(const Endpoint& at) const {
  const auto found = by_host_.find(at.host);
  return found == by_host_.end() ? std::nullopt : std::optional(found->second);
}

// ---------------------------------------------------------------- opening and closing

// Null: this end is closed.
Wires::Link* Wires::find(End end) const {
  Link* link = end < 0 ? nullptr : links_[half(end)].get();
  return link && link->ends[end % 2].state != LinkEnd::State::closed ? link : nullptr;
}

std::optional<std::size_t> Wires::owner(End end) const {
  const Link* link = find(end);
  return link ? std::optional(link->ends[end % 2].node) : std::nullopt;
}

bool Wires::is_blocked(const Link& link) const {
  const std::size_t a = link.ends[0].node, b = link.ends[1].node;
  return link.is_forgotten || network_->is_cut(a, b) || network_->is_cut(b, a);
}

Wires::End Wires::dial(std::size_t node, const Endpoint& to, gossip::Plane plane) {
  const End end = 2 * static_cast<End>(links_.size());
  links_.push_back(std::make_unique<Link>(Link{.plane = plane, .to = to, .ends = {}}));
  links_.back()->ends[0].node = node;
  links_.back()->ends[1].node = find(to).value_or(kNobody);
  machines_[node].ends.insert(end);
  const Duration delay = links_.back()->ends[1].node == kNobody
                             ? network_->options().delay
                             : network_->delay(node, links_.back()->ends[1].node);
  post(*now_ + delay, {end + 1, true, *now_ + gossip::kConnectTimeout});
  return end;
}

void Wires::post(Time at, const Packet& packet) {
  post_(at, Task{[this, packet] { pass(packet); }});
}

void Wires::pass(const Packet& packet) {
  Link* link = find(packet.end);
  if (!link) return;
  if (packet.is_first) return begin_at(*link, packet);
  if (link->is_forgotten) return;
  if (is_blocked(*link)) return post(*now_ + kAgain, packet);
  post_(*now_, Notice{packet.end, Kind::broken});
}

// The first packet of a connection is at the machine that was dialled, or was lost.
void Wires::begin_at(Link& link, const Packet& packet) {
  const std::size_t node = link.ends[1].node;
  const bool is_reached = node != kNobody && !machines_[node].is_hidden && !is_blocked(link);
  const End dialler = packet.end ^ 1;
  const Duration delay = is_reached ? network_->delay(node, link.ends[0].node) : Duration{};
  if (is_reached && machines_[node].runs) {
    machines_[node].ends.insert(packet.end);
    post_(*now_, Notice{packet.end, Kind::opened});
    post_(*now_ + delay, Notice{dialler, Kind::opened});
  } else if (is_reached) {
    post_(*now_ + delay, Notice{dialler, Kind::vain});
  } else if (*now_ + kAgain < packet.until) {
    post(*now_ + kAgain, packet);
  } else {
    post_(packet.until, Notice{dialler, Kind::vain});
  }
}

void Wires::notify(const Notice& notice) {
  Link* link = find(notice.end);
  const std::size_t node = node_at(notice.end);
  const bool is_dialled = notice.end % 2 == 0;
  const Wire::Socket socket = route_of(notice.end, link->plane).socket;
  machines_[node].wire.add(
      socket, {notice.kind, notice.end,
               is_dialled ? to_string(link->to) : machines_[link->ends[0].node].control.host});
  if (notice.kind == Kind::opened)
    open(notice.end);
  else
    close(notice.end);
}

void Wires::open(End end) {
  Link& link = *find(end);
  link.ends[end % 2].state = LinkEnd::State::open;
  for (const gossip::Frame& frame : std::exchange(link.ends[end % 2].held, {}))
    transmit(link, end, frame);
}

// The other end learns of it behind all that was sent.
void Wires::close(End end) {
  Link& link = *find(end);
  LinkEnd& self = link.ends[end % 2];
  const LinkEnd& other = link.ends[end % 2 ^ 1];
  self.state = LinkEnd::State::closed;
  machines_[self.node].ends.erase(end);
  const bool has_begun = other.node != kNobody && machines_[other.node].ends.contains(end ^ 1);
  if (!has_begun) return links_[half(end)].reset();
  const Duration delay = network_->delay(self.node, other.node);
  post(std::max(*now_ + delay, self.arrives), {end ^ 1, false});
}

// ---------------------------------------------------------------- sending

Wire::Sent Wires::send(End end, const gossip::Frame& frame) {
  Link* link = find(end);
  if (!link) return Wire::Sent::gone;
  LinkEnd& self = link->ends[end % 2];
  const bool is_buffer_full = self.under_way_bytes >= static_cast<double>(gossip::kSendBufferBytes);
  if ((is_buffer_full ? self.under_way : self.held.size()) >= gossip::sending_limit(link->plane))
    return Wire::Sent::later;
  const std::size_t other = link->ends[end % 2 ^ 1].node;
  if (link->plane == gossip::Plane::bulk && self.under_way_bytes > 0 &&
      self.under_way_bytes >= network_->window_bytes(self.node, other))
    return Wire::Sent::later;
  if (self.state == LinkEnd::State::opening)
    self.held.push_back(frame);
  else
    transmit(*link, end, frame);
  return Wire::Sent::whole;
}

void Wires::transmit(Link& link, End end, const gossip::Frame& frame) {
  LinkEnd& self = link.ends[end % 2];
  self.sent = *now_;
  if (is_blocked(link))
    self.lost = self.lost.value_or(*now_);
  else
    self.lost.reset();
  counts_.vanished += link.is_forgotten;
  if (link.is_forgotten) return;
  auto carried = std::make_shared<Carried>(Carried{.frame = frame});
  const auto header = std::as_bytes(std::span(carried->frame.header));
  carried->is_greeting = gossip::begins_with(header, gossip::kGreetingMark);
  const Hop hop{self.node, link.ends[end % 2 ^ 1].node, link.plane};
  const Arrivals arrivals = carried->is_greeting ? network_->greet(*now_, hop)
                                                 : network_->send(*now_, hop, bytes_of(frame));
  if (!arrivals.first) return;
  if (!carried->is_greeting) carried->damage = network_->damage().meet(carried->frame);
  if (carried->damage == Damage::Done::forged) network_->damage().note_forged(hop.from, hop.to);
  for (const auto& time : {arrivals.first, arrivals.second}) {
    if (!time) continue;
    ++self.under_way;
    self.under_way_bytes += bytes_of(carried->frame);
    self.arrives = std::max(self.arrives, *time);
    post_(*time, Delivery{end ^ 1, carried});
  }
}

bool Wires::arrive(Delivery& delivery) {
  Link* link = find(delivery.end);
  if (!link) return false;
  if (std::exchange(delivery.has_arrived, true)) return true;
  LinkEnd &self = link->ends[delivery.end % 2], &sender = link->ends[delivery.end % 2 ^ 1];
  --sender.under_way;
  sender.under_way_bytes -= bytes_of(delivery.carried->frame);
  self.received = *now_;
  self.received_bytes += static_cast<std::int64_t>(bytes_of(delivery.carried->frame));
  if (!is_blocked(*link)) sender.acknowledged = *now_;
  return true;
}

Wire::Arrived Wires::read(const Delivery& delivery) const {
  const gossip::Frame& frame = delivery.carried->frame;
  return {.route = route_of(delivery.end, find(delivery.end)->plane),
          .descriptor = delivery.end,
          .bytes = static_cast<std::int64_t>(bytes_of(frame)),
          .header = std::as_bytes(std::span(frame.header)),
          .payload = frame.payload};
}

// What was lost on a way that is free again has been sent again and acknowledged.
gossip::Tcp::Flow Wires::flow(End end) {
  Link* link = find(end);
  if (!link) return {};
  LinkEnd& self = link->ends[end % 2];
  if (self.lost && !is_blocked(*link)) {
    self.lost.reset();
    self.acknowledged = *now_;
  }
  const bool is_lost = self.lost.has_value();
  // A frame with a weight is a stream of packets, each of which is acknowledged.
  const bool is_streaming = network_->options().geography && !is_blocked(*link);
  if (is_streaming && self.under_way > 0) self.acknowledged = *now_;
  if (is_streaming && link->ends[end % 2 ^ 1].under_way > 0) self.received = *now_;
  return {.received_bytes = self.received_bytes,
          .is_unsent = false,
          .is_unacknowledged = is_lost || self.under_way > 0,
          .retransmissions = is_lost ? retransmissions(*now_ - *self.lost) : 0,
          .since_ack = *now_ - std::max(self.acknowledged, self.lost.value_or(Time{})),
          .since_sent = *now_ - self.sent,
          .since_received = *now_ - self.received};
}

// ---------------------------------------------------------------- the wire of a node

bool Wires::NodeWire::shut(int descriptor) {
  if (wires_->owner(descriptor) != node_) return false;
  add(Socket::accepts, {Event::Kind::broken, descriptor, {}});
  wires_->close(descriptor);
  return true;
}

std::optional<Wire::Dialled> Wires::NodeWire::dial(const Endpoint& to, gossip::Plane plane,
                                                   const std::optional<CurveKey>&) {
  return Dialled{route_of(wires_->dial(node_, to, plane), plane), to_string(to)};
}

void Wires::NodeWire::hang_up(const Endpoint& to, Socket socket) {
  for (const End end : std::set(wires_->machines_[node_].ends)) {
    const Link& link = *wires_->find(end);
    if (end % 2 == 0 && dialler(link.plane) == socket && link.to == to) wires_->close(end);
  }
}

Wire::Sent Wires::NodeWire::send(const Route& route, const gossip::Frame& frame,
                                 bool& sent_header) {
  sent_header = false;
  return wires_->send(end_of(route), frame);
}

std::optional<Wire::Event> Wires::NodeWire::next_event(Socket socket) {
  const auto found = std::ranges::find(events_, socket, &std::pair<Socket, Event>::first);
  if (found == events_.end()) return std::nullopt;
  Event event = std::move(found->second);
  events_.erase(found);
  return event;
}

}  // namespace starling::sim
