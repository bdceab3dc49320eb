// Exchange: what the status says of the rounds and the edges.
#include <fmt/core.h>

#include <algorithm>

#include "gossip/edges/exchange.h"

namespace starling::gossip {

void Exchange::note(Time now, const optim::Done& done) {
  waits_.worked(now);
  for (const optim::NeighborDistance& item : done.stats.distances)
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      found->second.distance = item.distance;
  for (const optim::Rejection& item : done.rejections)
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      ++found->second.rejected[item.reason];
}

void Exchange::describe(Time now, const Links& links, Status& status) const {
  status.edges = edge_statuses(links);
  status.unsettled_edges = sessions_.unsettled();
  status.late_edges = sessions_.late();
  status.abandoned_edges = sessions_.abandoned();
  status.wait = waits_.waited();
  // Vectors that each neighbour is told apart are not averaged with these weights.
  if (options_.needs.delivery != optim::Delivery::per_edge) status.mixing_rate = mixing_.rate();
  status.network_wait = waits_.waited_for_network();
  add_reasons(now, links, status);
}

std::vector<EdgeStatus> Exchange::edge_statuses(const Links& links) const {
  static const Neighbor kNobody;
  std::vector<EdgeStatus> edges;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    const Neighbor& neighbor = found == neighbors_.end() ? kNobody : found->second;
    EdgeStatus edge;
    edge.id = peer;
    edge.name = link.name;
    edge.state = !link.refusal.empty()                     ? EdgeState::refused
                 : !link.active                            ? EdgeState::opening
                 : neighbor.late || paused_.contains(peer) ? EdgeState::late
                                                           : EdgeState::active;
    edge.refusal = link.refusal;
    edge.weight = link.active ? neighbor.weight : 0;
    edge.round = neighbor.round;
    edge.staleness = round() > edge.round ? round() - edge.round : 0;
    edge.rtt_s = link.rtt_s;
    edge.patience_s = seconds(
        neighbor.patience.value(options_.timing.patience_least, options_.timing.patience_least));
    edge.receive_rate = neighbor.meter.rate();
    edge.send_rate = neighbor.send_rate;
    edge.queued_bytes = sessions_.unconfirmed_bytes(peer);
    edge.repeated_bytes = sessions_.repeated_bytes(peer);
    edge.distance = neighbor.distance;
    edge.sent_bytes = neighbor.sent_bytes;
    edge.received_bytes = neighbor.received_bytes;
    edge.rejected = neighbor.rejected;
    edges.push_back(std::move(edge));
  }
  std::ranges::sort(edges, [](auto& a, auto& b) { return natural_less(a.name, b.name); });
  return edges;
}

// The reason for the status if this node spends most of its time waiting for the network; else
// empty.
std::string Exchange::network_reason(const std::vector<EdgeStatus>& edges) const {
  constexpr double kMostly = 0.5, kWorthSaying = 0.005;
  if (waits_.network_share().value() < kMostly || waits_.network_share().per_round() < kWorthSaying)
    return {};
  const auto edge = std::ranges::find(edges, slowest_, &EdgeStatus::id);
  if (edge == edges.end()) return {};
  return fmt::format(
      "waits for the network {:.0f} % of the time: {:.3g} MB a round over {:.3g} MB/s from {}",
      100 * waits_.network_share().value(), static_cast<double>(offer_.size()) / 1e6,
      edge->receive_rate / 1e6, edge->name);
}

void Exchange::add_reasons(Time now, const Links& links, Status& status) const {
  if (std::string network = network_reason(status.edges); !network.empty())
    status.reasons.push_back(network);
  const auto leader = rounds_.alone(views(links));
  if (leader && scheduler_->rules().rounds_in_step > 0) {
    const std::uint64_t claimed = neighbors_.at(*leader).round;
    status.reasons.push_back(fmt::format("{} says that it is in round {}, {} ahead of this node",
                                         links.all().at(*leader).name, claimed, claimed - round()));
  }
  if (rounds_.has_jumped(now))
    status.reasons.push_back(
        fmt::format("{} rounds that were jumped over do not count", rounds_.uncounted()));
  const char* without =
      scheduler_->is_far_ahead(turn(), views(links)) ? "far ahead of" : "going on without";
  for (const EdgeStatus& edge : status.edges) {
    if (edge.state != EdgeState::late) continue;
    if (paused_.contains(edge.id)) {
      if (!is_resting_) status.reasons.push_back(fmt::format("{} is paused", edge.name));
      continue;
    }
    const Neighbor& neighbor = neighbors_.at(edge.id);
    status.reasons.push_back(fmt::format("{} {}: last heard {:.1f} s ago, patience {:.1f} s",
                                         without, edge.name, seconds(now - neighbor.heard),
                                         edge.patience_s));
  }
}

}  // namespace starling::gossip
