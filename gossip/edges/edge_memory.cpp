#include "gossip/edges/edge_memory.h"

#include <algorithm>

#include "base/prng.h"

namespace starling::gossip {

void EdgeMemory::write(const Exchange& exchange, const Links& links, Checkpoint& checkpoint) {
  checkpoint.path = exchange.path_;
  checkpoint.partner_path = exchange.partner_path_;
  checkpoint.edges.clear();
  for (const auto& [peer, link] : links.all())
    if (link.active) checkpoint.edges.push_back(of(exchange, link));
}

void EdgeMemory::restore(const Checkpoint& checkpoint, Exchange& exchange) {
  exchange.path_ = exchange.path_before_ = checkpoint.path;
  exchange.partner_path_ = checkpoint.partner_path;
}

// Both ends compute the same claim, from their numbers of the opening and what was averaged since.
// Vectors that are not paired leave nothing that the ends must agree on, but for the round.
KeptEdge EdgeMemory::of(const Exchange& exchange, const Link& link) {
  const NodeId peer = link.wanted.peer;
  const std::uint64_t own_end = mix64(link.epoch) ^ node_id(exchange.options_.name).value;
  const std::uint64_t peer_end = mix64(link.peer_epoch) ^ peer.value;
  const std::uint64_t averaged =
      exchange.is_paired(link) ? exchange.sessions_.taken(peer) : exchange.round();
  const std::uint64_t claim = mix64(mix64(own_end) + mix64(peer_end)) ^ mix64(averaged);
  return {peer, link.edge_id(), std::max<std::uint64_t>(claim, 1)};
}

}  // namespace starling::gossip
