#include "sim/connections.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gossip/wire/connection_rules.h"
#include "sim/options.h"

namespace starling::sim {

Connections::Connections(const Network& network, std::size_t nodes)
    : network_(&network), machines_(nodes) {
  for (std::size_t k = 0; k < nodes; ++k) by_host_[host_of(k)] = k;
}

void Connections::begin(std::size_t node, const Endpoint& control, bool is_hidden) {
  machines_[node].runs = true;
  machines_[node].is_hidden = is_hidden;
  machines_[node].contacts.clear();
  if (control.port == 0) by_host_[control.host] = node;
}

void Connections::end(std::size_t node) {
  machines_[node].runs = false;
  std::erase_if(open_, [&](const auto& item) {
    return item.first.hidden == node || item.first.dialled == node;
  });
  std::erase_if(waiting_, [&](const auto& item) { return item.first.dialled == node; });
}

void Connections::forget(std::size_t node) {
  for (auto& [line, connection] : open_)
    if (line.hidden == node && !std::exchange(connection.is_forgotten, true)) ++counts_.forgotten;
}

// ---------------------------------------------------------------- what the node asks for

void Connections::reach(std::size_t node, const gossip::Reach& reach) {
  machines_[node].contacts[reach.node] = &*addresses_.insert(reach.contact.control).first;
}

void Connections::hang_up(Time now, std::size_t node, const gossip::Hangup& hangup) {
  const auto peer = find(control_of(node, hangup.from));
  if (!peer) return;
  const Hop hop{node, *peer, hangup.plane};
  if (machines_[*peer].is_hidden) waiting_.erase(line_of(hop));
  const auto found = open_.find(line_of(hop));
  if (machines_[node].is_hidden && found != open_.end())
    found->second.closes_at = std::min(found->second.closes_at, now + gossip::kConnectionLinger);
}

const Endpoint& Connections::control_of(std::size_t node, NodeId peer) const {
  static const Endpoint kNowhere;
  const auto known = machines_[node].contacts.find(peer);
  return known == machines_[node].contacts.end() ? kNowhere : *known->second;
}

std::optional<std::size_t> Connections::find(const Endpoint& at) const {
  const auto found = by_host_.find(at.host);
  return found == by_host_.end() ? std::nullopt : std::optional(found->second);
}

Endpoint Connections::target_of(const gossip::Introduce& introduce) const {
  const auto to = find(introduce.to);
  return to && is_hidden(*to) && !introduce.asker ? Endpoint() : introduce.to;
}

std::vector<Parcel> Connections::post(Time now, Parcel parcel) {
  std::vector<Parcel> leaving;
  for (const Interceptor& interceptor : interceptors_) interceptor(parcel);
  const Hop hop = parcel.hop;
  const bool from_hidden = machines_[hop.from].is_hidden, to_hidden = machines_[hop.to].is_hidden;
  if (from_hidden && to_hidden) return leaving;
  if (from_hidden && gossip::kind_of(parcel.message.body).invites_vectors)
    open(now, line_of({hop.from, hop.to, gossip::Plane::bulk}), leaving);
  if (from_hidden) open(now, line_of(hop), leaving);
  if (from_hidden || to_hidden) {
    const Line line = line_of(hop);
    const bool is_blocked = this->is_blocked(line);
    if (to_hidden && is_gone(now, line, false)) {
      wait(std::move(parcel));
      return leaving;
    }
    const auto found = open_.find(line);
    if (found == open_.end() || !passes(now, found->second, is_blocked, from_hidden)) {
      ++counts_.vanished;
      return leaving;
    }
  }
  leaving.insert(leaving.begin(), std::move(parcel));
  return leaving;
}

// ---------------------------------------------------------------- connections

Connections::Line Connections::line_of(const Hop& hop) const {
  if (machines_[hop.from].is_hidden) return {hop.from, hop.to, hop.plane};
  return {hop.to, hop.from, hop.plane};
}

bool Connections::is_blocked(const Line& line) const {
  return network_->is_cut(line.hidden, line.dialled) || network_->is_cut(line.dialled, line.hidden);
}

// Where the way is free, what is sent to an end that has given up is refused.
bool Connections::is_gone(Time now, const Line& line, bool by_hidden) const {
  const auto found = open_.find(line);
  if (found == open_.end()) return true;
  const Connection& connection = found->second;
  const auto gave_up = [&](bool hidden) { return now >= connection.given_up[hidden ? 0 : 1]; };
  if (now >= connection.closes_at || gave_up(by_hidden)) return true;
  return !connection.is_forgotten && !is_blocked(line) && gave_up(!by_hidden);
}

// Whether what is sent now over the connection is on its way; the network drops it where the way is
// cut.
bool Connections::passes(Time now, Connection& connection, bool is_blocked, bool by_hidden) {
  Time& limit = connection.given_up[by_hidden ? 0 : 1];
  limit =
      is_blocked || connection.is_forgotten ? std::min(limit, now + gossip::kCutPatience) : kNever;
  if (connection.closes_at != kNever)
    connection.closes_at = by_hidden ? kNever : now + gossip::kConnectionLinger;
  return !connection.is_forgotten;
}

// Unless there is one. Where nobody listens, or nothing passes, it is dialled in vain.
void Connections::open(Time now, const Line& line, std::vector<Parcel>& leaving) {
  if (!is_gone(now, line, true)) return;
  open_.erase(line);
  if (!machines_[line.dialled].runs || is_blocked(line)) return;
  open_[line] = {};
  const auto waiting = waiting_.extract(line);
  if (waiting) std::ranges::move(waiting.mapped(), std::back_inserter(leaving));
}

void Connections::wait(Parcel parcel) {
  std::deque<Parcel>& queue = waiting_[line_of(parcel.hop)];
  const bool is_bulk = parcel.hop.plane == gossip::Plane::bulk;
  const bool is_full = queue.size() >= gossip::waiting_limit(parcel.hop.plane);
  counts_.vanished += is_full;
  if (is_full && (!is_bulk || parcel.message.payload.empty())) return;
  if (is_full) queue.pop_back();
  queue.push_back(std::move(parcel));
}

}  // namespace starling::sim
