#include "sim/network.h"

#include <algorithm>

namespace starling::sim {

Network::Network(const NetworkOptions& options, std::uint64_t seed)
    : options_(options), prng_(Prng::derive(seed, stable_hash("network"))) {}

Arrivals Network::send(Time now, const Hop& hop, std::size_t bytes) {
  if (cuts_.contains({hop.from, hop.to})) return {};
  const std::uint64_t key = static_cast<std::uint64_t>(hop.from) << 32 |
                            static_cast<std::uint64_t>(hop.to) << 1 |
                            static_cast<std::uint64_t>(hop.plane);
  Connection& connection = connections_[key];
  const Time first = arrival(now, connection, bytes);
  if (prng_.chance(options_.loss)) return {};  // it took its time on the wire all the same
  Arrivals arrivals{first, {}};
  if (prng_.chance(options_.duplicate)) arrivals.second = arrival(now, connection, bytes);
  return arrivals;
}

Time Network::arrival(Time now, Connection& connection, std::size_t bytes) {
  Time sent = now;
  if (options_.bandwidth > 0) {
    sent = std::max(now, connection.free) +
           from_seconds(static_cast<double>(bytes) / options_.bandwidth);
    connection.free = sent;
  }
  const auto jitter = from_seconds(seconds(options_.jitter) * prng_.uniform());
  const Time arrived = sent + options_.delay + jitter;
  if (options_.reorder) return arrived;
  connection.last = std::max(connection.last, arrived);
  return connection.last;
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
