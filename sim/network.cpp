#include "sim/network.h"

#include <algorithm>
#include <limits>

namespace starling::sim {
namespace {

// After so many tries, 6.2 s, a node replaces the connection: then the packet arrives.
constexpr int kTriesLimit = 5;

std::uint64_t key_of(std::size_t from, std::size_t to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to) << 1;
}

}  // namespace

Network::Network(const NetworkOptions& options, std::uint64_t seed)
    : options_(options), prng_(Prng::derive(seed, stable_hash("network"))), damage_(seed) {}

FaultCounts Network::counts() const {
  FaultCounts counts = counts_;
  counts += damage_.counts();
  return counts;
}

Duration Network::delay(std::size_t from, std::size_t to) const {
  return options_.geography ? options_.geography->way(from, to).delay : options_.delay;
}

double Network::window_bytes(std::size_t from, std::size_t to) const {
  double rate = std::numeric_limits<double>::infinity();
  const Geography* const map = options_.geography.get();
  if (!map) return rate;
  const Geography::Way& way = map->way(from, to);
  for (const double limit : {map->places[from].up, map->places[to].down, way.each, way.shared})
    if (limit > 0) rate = std::min(rate, limit);
  const double chunk = options_.payload_weight * static_cast<double>(options_.chunk_bytes);
  return 2 * chunk + rate * 2 * seconds(way.delay);
}

Arrivals Network::send(Time now, const Hop& hop, double bytes) {
  sent_bytes_ += bytes;
  if (!cuts_.empty() && is_cut(hop)) return {};
  const Time first = arrival(now, hop, bytes);
  if (prng_.chance(options_.loss)) {  // it took its time on the wire all the same
    ++counts_.lost;
    return {};
  }
  Arrivals arrivals{first, {}};
  if (prng_.chance(options_.duplicate)) {
    ++counts_.duplicated;
    arrivals.second = arrival(now, hop, bytes);
  }
  return arrivals;
}

Arrivals Network::greet(Time now, const Hop& hop) {
  if (!cuts_.empty() && is_cut(hop)) return {};
  return {std::max(now + delay(hop.from, hop.to), held_until(now, hop)), {}};
}

bool Network::is_cut(const Hop& hop) {
  if (!cuts_.contains({hop.from, hop.to})) return false;
  ++(cuts_.contains({hop.to, hop.from}) ? counts_.cut_both_ways : counts_.cut_one_way);
  return true;
}

Time Network::arrival(Time now, const Hop& hop, double bytes) {
  Connection& connection =
      connections_[key_of(hop.from, hop.to) | static_cast<std::uint64_t>(hop.plane)];
  const Duration held = retransmission();
  Time arrived = sent(now, hop, bytes, connection) + delay(hop.from, hop.to) +
                 from_seconds(seconds(options_.jitter) * prng_.uniform()) + held;
  if (held > Duration{} && hop.plane == gossip::Plane::bulk)
    for (const std::size_t end : {hop.from, hop.to}) held_[end] = std::max(held_[end], arrived);
  if (options_.spike > 0 && prng_.chance(options_.spike)) {
    ++counts_.delayed;
    arrived += from_seconds(seconds(kSpike) * prng_.uniform());
  }
  arrived = std::max(arrived, held_until(now, hop));
  const bool straggles = options_.reorder > 0 && prng_.chance(options_.reorder);
  if (straggles) arrived += from_seconds(seconds(kStraggle) * prng_.uniform());
  if (!straggles) arrived = connection.last = std::max(connection.last, arrived);
  if (arrived < connection.straggler) ++counts_.reordered;
  if (straggles) connection.straggler = std::max(connection.straggler, arrived);
  return arrived;
}

// When the last byte has passed the sender's link, the limited connection, what all connections
// between two regions share, and the receiver's link, each of which has its queue. Frames pass all
// at once, and connections share a link as they do under TCP, so that the busiest decides. Small
// messages do not wait for vectors of other connections.
Time Network::sent(Time now, const Hop& hop, double bytes, Connection& connection) {
  Time end = now;
  const auto pass = [&](Wire& wire, double bytes_per_second) {
    if (!(bytes_per_second > 0)) return;
    wire.free = std::max(wire.free, now) + from_seconds(bytes / bytes_per_second);
    end = std::max(end, wire.free);
  };
  const bool is_shared = hop.plane == gossip::Plane::bulk;
  const Geography* const map = is_shared ? options_.geography.get() : nullptr;
  if (is_shared) pass(up_[hop.from], options_.bandwidth);
  if (map) {
    const Geography::Way& way = map->way(hop.from, hop.to);
    pass(up_[hop.from], map->places[hop.from].up);
    pass(connection.wire, way.each);
    pass(ways_[map->way_index(hop.from, hop.to)], way.shared);
    pass(down_[hop.to], map->places[hop.to].down);
  }
  if (!limits_.empty())
    if (const auto limit = limits_.find(key_of(hop.from, hop.to)); limit != limits_.end()) {
      ++counts_.limited;
      pass(connection.wire, limit->second);
    }
  if (is_shared) pass(down_[hop.to], options_.bandwidth);
  return end;
}

Duration Network::retransmission() {
  Duration held{};
  if (!(options_.packet_loss > 0)) return held;
  Duration next = kRetransmission;
  for (int k = 0; k < kTriesLimit && prng_.chance(options_.packet_loss); ++k, next *= 2)
    held += next;
  counts_.retransmitted += held > Duration{};
  return held;
}

bool Network::is_held(Time now, std::size_t node) const {
  const auto found = held_.find(node);
  return found != held_.end() && found->second > now;
}

void Network::limit(std::size_t from, std::size_t to, double bytes_per_second) {
  double& limit = limits_[key_of(from, to)];
  limit = limit > 0 ? std::min(limit, bytes_per_second) : bytes_per_second;
}

Time Network::held_until(Time now, const Hop& hop) {
  if (clogs_.empty()) return now;
  const auto found = clogs_.find(key_of(hop.from, hop.to));
  if (found == clogs_.end() || found->second <= now) return now;
  ++counts_.clogged;
  return found->second;
}

void Network::clog(std::size_t from, std::size_t to, Time until) {
  Time& held = clogs_[key_of(from, to)];
  held = std::max(held, until);
}

void Network::partition(std::span<const std::size_t> group, std::size_t nodes) {
  const std::set<std::size_t> inside(group.begin(), group.end());
  for (std::size_t a : inside)
    for (std::size_t b = 0; b < nodes; ++b) {
      if (inside.contains(b)) continue;
      cut(a, b);
      cut(b, a);
    }
}

}  // namespace starling::sim
