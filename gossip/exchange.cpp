#include "gossip/exchange.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace starling::gossip {
namespace {

// A node this many rounds behind is still in step: others wait for it, and it catches up round by
// round, so that all take equally many local steps; the optimum moves towards those who take more.
// Beyond it, nobody waits and it jumps. Larger: a slow or lossy neighbour holds others up longer.
constexpr std::uint64_t kRoundsInStep = 8;

}  // namespace

void Exchange::links_changed(Time now, const Links& links, const Membership& members, Outbox& out) {
  const std::pair versions{links.version(), members.version()};
  if (std::exchange(versions_, versions) == versions) return;
  sessions_.follow(now, links, members, out);
  std::erase_if(neighbors_, [&](const auto& item) {
    const bool gone = !links.all().contains(item.first);
    if (gone) aggregate_.forget(item.first);
    return gone;
  });
  std::erase_if(offered_to_, [&](const auto& item) { return !links.active(item.first); });
  if (offered_round_ == 0) return;
  for (const auto& [peer, link] : links.all()) {
    if (!link.active || was_offered(link)) continue;
    // It comes while we are under way: hear it before waiting for it.
    if (!neighbors_.contains(peer)) neighbors_[peer].late = true;
    if (!is_numbered(link)) send_offer(now, link, out);
  }
}

// An edge that brings one way only has no pairs.
bool Exchange::is_numbered(const Link& link) const {
  return options_.missing == Missing::late && link.wish.brings && link.wish.takes;
}

void Exchange::offer(Time now, Payload payload, const Links& links, Outbox& out) {
  offer_ = std::move(payload);
  offered_round_ = round_;
  // Edges that are about to close are offered to as well, and count: the weights of a round must
  // add up to less than one.
  const auto active = std::ranges::count_if(
      links.all(), [](const auto& item) { return item.second.active && item.second.wish.brings; });
  offered_degree_ = std::max(degree_, static_cast<std::uint32_t>(active));
  wait_since_ = now;
  offered_to_.clear();
  aggregate_.update();
  for (const auto& [peer, link] : links.all())
    if (link.active) send_offer(now, link, out);
}

void Exchange::send_offer(Time now, const Link& link, Outbox& out) {
  Round message;
  message.epoch = link.epoch;
  message.round = offered_round_;
  message.degree = offered_degree_;
  if (aggregate_.has_value()) {
    message.flow = aggregate_.flow(link.wish.peer);
    message.estimate = aggregate_.estimate();
  }
  Neighbor& neighbor = neighbors_[link.wish.peer];
  Payload payload = link.wish.takes ? offer_ : Payload();
  if (is_numbered(link)) {
    const Timing& timing = options_.timing;
    const Duration pause =
        2 * neighbor.patience.value(timing.patience_least, timing.patience_initial);
    // Who is behind in rounds catches up first: the others wait for it.
    const bool is_behind = neighbor.latest && neighbor.latest->round > offered_round_;
    if (!sessions_.offer(now, link, {offered_round_, offered_degree_, payload}, is_behind, pause,
                         message))
      payload = {};
  }
  neighbor.sent_bytes += payload.size();
  offered_to_[link.wish.peer] = link.epoch;
  out.send(link.bulk, std::move(message), payload);
}

void Exchange::receive(Time now, const Envelope& from, const Round& message, Payload payload,
                       const Links& links, Outbox& out) {
  const std::size_t bytes = payload.size();
  auto heard = Sessions::Heard::fresh;
  if (message.echo != 0)
    heard = sessions_.receive(now, from, message, std::move(payload), links, is_resting_, out);
  const auto found = links.all().find(from.sender);
  if (found == links.all().end()) return;
  const Link& link = found->second;
  Neighbor& neighbor = neighbors_[from.sender];
  neighbor.received_bytes += bytes;
  // The other end is active a moment before this one: its epoch is what counts.
  if (link.peer_epoch != message.epoch || link.peer_incarnation != from.incarnation ||
      (message.echo != 0) != is_numbered(link)) {
    if (heard == Sessions::Heard::foreign || message.echo == 0) ++neighbor.rejected["closed edge"];
    return;
  }
  if (message.round == 0) return;  // only says what came
  const bool is_new = !neighbor.latest || message.round > neighbor.latest->round;
  if (heard == Sessions::Heard::known || (message.echo == 0 && !is_new))
    ++neighbor.rejected["repeated"];
  if (!is_new) return;
  neighbor.last_heard = now;
  const bool in_step = message.round + kRoundsInStep >= round_;
  if (neighbor.late) neighbor.patience.restart();
  neighbor.patience.arrived(now);
  neighbor.late = neighbor.late && !in_step;
  aggregate_.receive(from.sender, message.flow, message.estimate);
  neighbor.before = std::move(neighbor.latest);
  neighbor.latest = Vector{message.round, message.degree, std::move(payload)};
}

bool Exchange::lacks_vector(const Link& link, const Neighbor& neighbor) const {
  if (!neighbor.latest || neighbor.latest->round < offered_round_) return true;
  // Whoever has spoken in this round waits itself: nothing comes of it but what was lost.
  return is_numbered(link) && sessions_.has_gap(link.wish.peer);
}

// In this round. Whoever was not waits itself, where it is behind: its edge is younger than the
// offer.
bool Exchange::was_offered(const Link& link) const {
  const auto found = offered_to_.find(link.wish.peer);
  return found != offered_to_.end() && found->second == link.epoch;
}

bool Exchange::waits_for(const Link& link, Time now) const {
  if (!link.active || !link.wish.brings || !was_offered(link)) return false;
  const Neighbor& neighbor = neighbors_.at(link.wish.peer);
  return !neighbor.late && lacks_vector(link, neighbor) && now < waits_until(neighbor);
}

Time Exchange::waits_until(const Neighbor& neighbor) const {
  const Timing& timing = options_.timing;
  return wait_since_ + neighbor.patience.value(timing.patience_least, timing.patience_initial);
}

bool Exchange::complete(Time now, const Links& links) const {
  return std::ranges::none_of(links.all(),
                              [&](const auto& item) { return waits_for(item.second, now); });
}

Time Exchange::deadline(const Links& links) const {
  Time next = kNever;
  for (const auto& [peer, link] : links.all()) {
    if (!waits_for(link, wait_since_)) continue;
    const auto found = neighbors_.find(peer);
    next = std::min(next, found == neighbors_.end() ? wait_since_ + options_.timing.patience_initial
                                                    : waits_until(found->second));
  }
  return next;
}

// The vector of this round; of a neighbour that ran ahead, the one nearest to it.
const Exchange::Vector* Exchange::vector_for(const Neighbor& neighbor) const {
  if (neighbor.before && neighbor.before->round >= offered_round_) return &*neighbor.before;
  if (!neighbor.latest) return nullptr;
  const bool is_old = neighbor.latest->round < offered_round_;
  return is_old && options_.missing == Missing::self ? nullptr : &*neighbor.latest;
}

std::vector<optim::MixTerm> Exchange::finish_round(Time now, const Links& links, Outbox& out) {
  waited_ += now - wait_since_;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wish.brings || found == neighbors_.end()) continue;
    Neighbor& neighbor = found->second;
    neighbor.weight = 0;
    if (!lacks_vector(link, neighbor)) continue;
    if (!neighbor.late) late_.push_back(peer);
    neighbor.late = true;
  }
  sessions_.go_on(now);
  std::vector<optim::MixTerm> terms = take_pairs();
  add_heard(links, terms);
  tell_first(links, out);
  const std::uint64_t furthest = furthest_round(links);
  round_ = furthest > round_ + kRoundsInStep ? furthest : round_ + 1;
  return terms;
}

std::vector<optim::MixTerm> Exchange::take_pairs() {
  std::vector<optim::MixTerm> terms;
  for (Sessions::Mixable& item : sessions_.take()) {
    // Both ends see that, so both do without.
    if (options_.is_exact && item.pair.own.round != item.pair.theirs.round) continue;
    const double weight = item.pair.weight();
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      found->second.weight = weight;
    Payload own = item.is_current ? Payload() : std::move(item.pair.own.payload);
    terms.push_back(
        {item.peer, weight, std::move(item.pair.theirs.payload), std::move(own), item.edge});
  }
  return terms;
}

// Of the edges whose vectors are not numbered.
void Exchange::add_heard(const Links& links, std::vector<optim::MixTerm>& terms) {
  struct Heard {
    NodeId peer;
    Neighbor* neighbor;
    const Vector* vector;
  };
  std::vector<Heard> heard;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wish.brings || is_numbered(link) || found == neighbors_.end())
      continue;
    const Vector* vector = vector_for(found->second);
    if (vector && !vector->payload.empty()) heard.push_back({peer, &found->second, vector});
  }
  // More than were wanted at the time of the offer, when edges opened since: the weights must still
  // add up to less than one.
  const auto degree = std::max(offered_degree_, static_cast<std::uint32_t>(heard.size()));
  for (const Heard& item : heard) {
    item.neighbor->weight = 1.0 / (1.0 + std::max(degree, item.vector->degree));
    terms.push_back({item.peer, item.neighbor->weight, item.vector->payload, {}});
  }
}

void Exchange::tell_first(const Links& links, Outbox& out) {
  for (auto& [peer, neighbor] : neighbors_) {
    const Link* link = links.active(peer);
    if (!link || neighbor.averaged || neighbor.weight == 0) continue;
    neighbor.averaged = true;
    out.event(Event::Kind::averaged,
              fmt::format("averages with {} from round {} on", link->name, round_));
  }
}

void Exchange::close(Time now, Outbox& out) {
  is_resting_ = true;
  sessions_.close_all(now, out);
}

std::uint64_t Exchange::furthest_round(const Links& links) const {
  std::uint64_t furthest = 0;
  for (const auto& [peer, neighbor] : neighbors_)
    if (links.active(peer) && neighbor.latest)
      furthest = std::max(furthest, neighbor.latest->round);
  return furthest;
}

void Exchange::note(const optim::Done& done) {
  for (const optim::NeighborDistance& item : done.stats.distances)
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      found->second.distance = item.distance;
  for (const optim::Rejection& item : done.rejections)
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      ++found->second.rejected[item.reason];
}

std::vector<EdgeStatus> Exchange::status(const Links& links) const {
  static const Neighbor kNobody;
  std::vector<EdgeStatus> edges;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    const Neighbor& neighbor = found == neighbors_.end() ? kNobody : found->second;
    EdgeStatus edge;
    edge.id = peer;
    edge.name = link.name;
    edge.state = !link.refusal.empty() ? "refused: " + link.refusal
                 : !link.active        ? "opening"
                 : neighbor.late       ? "late"
                                       : "active";
    edge.weight = link.active ? neighbor.weight : 0;
    edge.round = neighbor.latest ? neighbor.latest->round : 0;
    edge.staleness = round_ > edge.round ? round_ - edge.round : 0;
    edge.rtt_s = link.rtt_s;
    edge.patience_s = seconds(
        neighbor.patience.value(options_.timing.patience_least, options_.timing.patience_initial));
    edge.distance = neighbor.distance;
    edge.sent_bytes = neighbor.sent_bytes;
    edge.received_bytes = neighbor.received_bytes;
    edge.rejected = neighbor.rejected;
    edges.push_back(std::move(edge));
  }
  std::ranges::sort(edges, [](auto& a, auto& b) { return natural_less(a.name, b.name); });
  return edges;
}

std::vector<std::string> Exchange::reasons(Time now, const Links& links) const {
  std::vector<std::string> reasons;
  for (const EdgeStatus& edge : status(links)) {
    if (edge.state.starts_with("refused"))
      reasons.push_back(fmt::format("no edge to {}: {}", edge.name, edge.state.substr(9)));
    if (edge.state != "late") continue;
    const Neighbor& neighbor = neighbors_.at(edge.id);
    reasons.push_back(fmt::format("going on without {}: last heard {:.1f} s ago, patience {:.1f} s",
                                  edge.name, seconds(now - neighbor.last_heard), edge.patience_s));
  }
  return reasons;
}

}  // namespace starling::gossip
