#include "gossip/edges/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/prng.h"
#include "gossip/members/terms.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {
namespace {

constexpr Duration kHelloPauseLimit = std::chrono::seconds(5);
// The pause between hellos over an open edge, which measure the link. Longer: a change of the link
// is noticed later. Shorter: idle nodes send more.
constexpr Duration kMeasureEvery = std::chrono::seconds(5);

// An edge that carries vectors one way only has no pairs.
bool is_paired(const Options& options, const WantedEdge& edge) {
  return counts_pairs(options) && edge.in && edge.out;
}

// Whether the message is of a member's present life, with the agreed values of this node. A
// neighbour that restarted with others stays among the edges until the next want().
bool is_fellow(const Envelope& from, const Roster& members) {
  const Member* member = members.find(from.sender);
  return member && member->incarnation == from.incarnation && members.agrees(*member);
}

}  // namespace

bool Link::is_new() const {
  return !active && refusal.empty() && pause < kHelloPauseLimit;
}

std::uint64_t Link::edge_id() const {
  if (is_resumed) return memory.edge;
  return mix64(mix64(mix64(epoch) ^ peer_epoch) ^ peer_incarnation);
}

// Both ends compute the same claim, from their numbers of the opening.
KeptEdge Link::kept(NodeId self, std::uint64_t averaged) const {
  const std::uint64_t own_end = mix64(epoch) ^ self.value;
  const std::uint64_t peer_end = mix64(peer_epoch) ^ wanted.peer.value;
  const std::uint64_t claim = mix64(mix64(own_end) + mix64(peer_end)) ^ mix64(averaged);
  return {wanted.peer, edge_id(), std::max<std::uint64_t>(claim, 1)};
}

Links::Links(const Options& options, const std::vector<KeptEdge>& memory)
    : options_(options), last_epoch_(mix64(options.incarnation) >> 32) {
  for (const KeptEdge& edge : memory) memory_[edge.peer] = edge;
}

void Links::open(Time now, std::uint64_t schema, const std::string& layout) {
  model_ = {{"model", layout.substr(0, kNameBytesLimit)}};
  schema_ = std::max<std::uint64_t>(1, mix64(schema) ^ form_of(options_));
  if (!std::exchange(is_shut_, false)) return;
  for (auto& [peer, link] : links_) {
    link.is_paired = is_paired(options_, link.wanted);
    link.pause = options_.timing.retry;
    link.next_hello = now;
  }
}

void Links::shut(Outbox& out) {
  is_shut_ = true;
  renewals_.catch_up();
  memory_.clear();
  for (auto& [peer, link] : links_) {
    out.send(peer, Bye{"begins anew", link.epoch});
    link.active = false;
    begin_anew(link);
    link.refusal.clear();
  }
}

void Links::want(Time now, const std::vector<WantedEdge>& edges, const Roster& members,
                 Outbox& out) {
  if (schema_ == 0) return;
  ++version_;
  std::map<NodeId, WantedEdge> wanted;
  for (const WantedEdge& edge : edges) wanted[edge.peer] = edge;
  std::erase_if(links_, [&](auto& item) {
    const auto& [peer, link] = item;
    const Member* member = members.find(peer);
    const bool same_life =
        member && (link.peer_incarnation == 0 || member->incarnation == link.peer_incarnation);
    if (wanted.contains(peer) && same_life) return false;
    if (member) out.send(peer, Bye{"no neighbours any more", link.epoch});
    if (link.active)
      out.event(Event::Kind::edge_closed, fmt::format("edge to {} closed: {}", link.name,
                                                      !member      ? "it is gone"
                                                      : !same_life ? "it started again"
                                                                   : "the topology changed"));
    if (link.active) renewals_.edge_closed();
    out.put(Hangup{peer, Plane::bulk});
    return true;
  });
  for (const auto& [peer, edge] : wanted)
    if (const Member* member = members.find(peer)) want_one(now, edge, *member);
}

void Links::want_one(Time now, const WantedEdge& edge, const Member& member) {
  Link& link = links_[edge.peer];
  const bool loses_way = (link.wanted.in && !edge.in) || (link.wanted.out && !edge.out);
  if (link.active && loses_way) renewals_.edge_closed();
  link.wanted = edge;
  link.is_paired = is_paired(options_, edge);
  // A peer that has sent no hello yet may have restarted.
  const bool is_another = link.peer_incarnation == 0 && link.incarnation != member.incarnation;
  if (link.epoch != 0 && !is_another) return;
  if (link.epoch == 0) link.epoch = ++last_epoch_;
  link.name = member.name;
  link.incarnation = member.incarnation;
  link.pause = options_.timing.retry;
  link.next_hello = now;
  if (const auto memory = memory_.extract(edge.peer)) link.memory = memory.mapped();
}

// The peer may have received the claim already, so this opening of the edge ends too.
void Links::forget(Time now, bool all) {
  memory_.clear();
  for (auto& [peer, link] : links_) {
    if (link.memory.claim == 0 || (link.active && !all)) continue;
    begin_anew(link);
    link.next_hello = now;
  }
}

void Links::say_hello(Time now, Link& link, std::uint64_t echo, Outbox& out) {
  if (is_shut_) return;
  out.send(link.wanted.peer, Hello{link.epoch, echo, schema_, view_, link.memory.claim,
                                   renewals_.value(), link.clock.stamps(now)});
}

void Links::tell_view(Time now, std::uint64_t view, Outbox& out) {
  if (std::exchange(view_, view) == view) return;
  for (auto& [peer, link] : links_) say_hello(now, link, link.peer_epoch, out);
}

bool Links::are_open() const {
  return std::ranges::all_of(
      links_, [](const auto& item) { return item.second.active || !item.second.refusal.empty(); });
}

bool Links::are_agreed() const {
  return are_open() && std::ranges::all_of(links_, [this](const auto& item) {
           return !item.second.active || item.second.peer_view == view_;
         });
}

void Links::receive(Time now, const Envelope& from, const Hello& hello, const Roster& members,
                    Outbox& out) {
  const auto found = links_.find(from.sender);
  // The edge is not wanted here, or not yet, as views differ for a moment. The peer repeats its
  // hello.
  if (found == links_.end() || is_shut_ || !is_fellow(from, members)) return;
  ++version_;
  Link& link = found->second;
  if (turn_away(now, link, hello, out)) return;
  link.clock.heard(now, hello.stamps);
  if (const auto trip = link.clock.round_trip()) link.rtt_s = seconds(*trip);
  const bool is_new = hello.epoch != link.peer_epoch || from.incarnation != link.peer_incarnation;
  // Vectors may have been averaged since the edge continued from this end's memory.
  if (is_new && link.is_resumed) begin_anew(link);
  link.peer_epoch = hello.epoch;
  link.peer_incarnation = from.incarnation;
  link.peer_view = hello.view;
  if (is_new && std::exchange(link.active, false)) renewals_.edge_closed();
  if (hello.echo == link.epoch && !link.active) activate(now, link, hello.claim, out);
  // The peer does not know this end's epoch yet, or this end has just learned the peer's.
  if (is_new || hello.echo != link.epoch) say_hello(now, link, link.peer_epoch, out);
}

void Links::activate(Time now, Link& link, std::uint64_t claim, Outbox& out) {
  link.active = true;
  renewals_.edge_opened();
  link.unanswered = 0;
  link.is_resumed = claim != 0 && claim == link.memory.claim;
  link.next_hello = now + kMeasureEvery;
  out.event(Event::Kind::edge_opened, fmt::format("edge to {} opened", link.name));
}

// Turns a peer away whose edge is barred or carries something else. Returns whether it did. The
// memory of an open edge is dropped, so that the edge cannot continue from it later.
bool Links::turn_away(Time now, Link& link, const Hello& hello, Outbox& out) {
  if (now < link.barred_until) return true;
  const bool is_other_model = hello.schema != schema_;
  if (!is_other_model) link.refusal.clear();
  const bool is_behind_or_ahead =
      !is_other_model && options_.needs.sums && !renewals_.agrees(hello.renewals);
  if (!is_other_model && !is_behind_or_ahead) return false;
  if (link.active) begin_anew(link);
  // One of the two begins anew soon. A peer that does not know of it yet is told.
  if (is_behind_or_ahead && hello.renewals < renewals_.value()) say_hello(now, link, 0, out);
  if (!is_other_model) return true;
  // The agreed keys are equal, but the peer's data give another model, or one of the two has other
  // settings by now. Both ends send their model in words; until then the refusal only says that
  // something differs.
  out.send(link.wanted.peer, Terms{false, model_});
  if (link.refusal.empty()) link.refusal = "its model or data differ from this node's";
  return true;
}

void Links::receive(const Envelope& from, const Terms& message) {
  const auto found = links_.find(from.sender);
  if (found == links_.end() || found->second.refusal.empty()) return;
  const bool is_model = message.terms.size() == 1 && message.terms.front().first == "model";
  if (is_model && message.terms != model_)
    found->second.refusal = difference(message.terms, model_);
}

void Links::receive(const Envelope& from, const Bye& bye, Outbox& out) {
  const auto found = links_.find(from.sender);
  if (found == links_.end() || from.incarnation != found->second.peer_incarnation ||
      bye.epoch != found->second.peer_epoch)
    return;
  Link& link = found->second;
  if (link.active)
    out.event(Event::Kind::edge_closed,
              fmt::format("{} closed the edge: {}", link.name, bye.reason));
  begin_anew(link);
}

// If the edge opens again, it has another edge id.
void Links::begin_anew(Link& link) {
  ++version_;
  if (std::exchange(link.active, false)) renewals_.edge_closed();
  link.is_resumed = false;
  link.memory = {};
  link.peer_epoch = 0;
  link.epoch = ++last_epoch_;
}

void Links::restart(Time now, NodeId peer, const std::string& reason, Duration pause, Outbox& out) {
  const auto found = links_.find(peer);
  if (found == links_.end() || !found->second.active) return;
  Link& link = found->second;
  out.send(link.wanted.peer, Bye{reason, link.epoch});
  out.event(Event::Kind::edge_closed, fmt::format("edge to {} closed: {}", link.name, reason));
  begin_anew(link);
  link.next_hello = link.barred_until = now + pause;
  if (pause > Duration{}) link.refusal = reason;
}

void Links::tick(Time now, Outbox& out) {
  if (is_shut_) return;
  for (auto& [peer, link] : links_) {
    if (now < link.next_hello) continue;
    link.next_hello = now + (link.active ? kMeasureEvery : link.pause);
    if (!link.active) ++link.unanswered, link.pause = std::min(link.pause * 2, kHelloPauseLimit);
    // An echo of 0 makes the peer answer: its end may be active already, and its answer lost.
    say_hello(now, link, 0, out);
  }
}

Time Links::deadline() const {
  Time next = kNever;
  if (is_shut_) return next;
  for (const auto& [peer, link] : links_) next = std::min(next, link.next_hello);
  return next;
}

void Links::close_all(Outbox& out) {
  for (const auto& [peer, link] : links_) out.send(link.wanted.peer, Bye{"leaving", link.epoch});
  links_.clear();
  ++version_;
}

const Link* Links::active(NodeId peer) const {
  const auto found = links_.find(peer);
  return found != links_.end() && found->second.active ? &found->second : nullptr;
}

std::vector<std::string> Links::refusals() const {
  std::vector<std::string> refusals;
  for (const auto& [peer, link] : links_)
    if (!link.refusal.empty())
      refusals.push_back(fmt::format("no edge to {}: {}", link.name, link.refusal));
  return refusals;
}

}  // namespace starling::gossip
