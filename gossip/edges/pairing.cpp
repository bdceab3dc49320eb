#include "gossip/edges/pairing.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace starling::gossip {
namespace {

// With this many young proposals the next step waits. More: less time lost with slow neighbours,
// and averaging with older vectors, each of which pulls by a half. Flows diverge with more than
// one.
constexpr std::ptrdiff_t kProposalsLimit = 2;
constexpr std::ptrdiff_t kFlowProposalsLimit = 1;
// A proposal is young for this many times what half of the answers take.
constexpr int kYoung = 4;

bool is_two_way(const Link& link) {
  return link.active && link.wish.brings && link.wish.takes;
}

}  // namespace

Pairing::Pairing(const Options& options)
    : options_(options), prng_(Prng::derive(options.seed, stable_hash("pair " + options.name))) {}

const Link* Pairing::choose(const Links& links, const Sessions& sessions) {
  std::vector<const Link*> free;
  for (const auto& [peer, link] : links.all())
    if (is_two_way(link) && !sessions.is_waiting(peer) && !sessions.is_asked(peer))
      free.push_back(&link);
  is_starved_ = free.empty();
  return free.empty() ? nullptr : free[prng_.below(free.size())];
}

void Pairing::answered(Time now, NodeId peer) {
  if (const auto proposal = proposed_at_.find(peer); proposal != proposed_at_.end())
    answers_.add(now - proposal->second);
}

const Link* Pairing::find_asker(const Links& links, const Sessions& sessions) const {
  for (const auto& [peer, link] : links.all())
    if (is_two_way(link) && sessions.is_asked(peer)) return &link;
  return nullptr;
}

Time Pairing::young_until(NodeId peer) const {
  const auto proposal = proposed_at_.find(peer);
  if (proposal == proposed_at_.end()) return {};
  const bool is_measured = answers_.is_measured();
  return proposal->second +
         (is_measured ? kYoung * answers_.median() : options_.timing.patience_initial);
}

bool Pairing::may_step(Time now, const Links& links, const Sessions& sessions) const {
  const auto waits = [&](const auto& item) {
    return is_two_way(item.second) && sessions.is_waiting(item.first) &&
           now < young_until(item.first);
  };
  // A node all of whose edges are taken would step on alone.
  const bool is_strict = options_.needs.delivery == optim::Delivery::exactly_once || is_starved_;
  const auto limit = is_strict ? kFlowProposalsLimit : kProposalsLimit;
  return std::ranges::count_if(links.all(), waits) < limit;
}

Time Pairing::deadline(const Links& links, const Sessions& sessions) const {
  Time next = kNever;
  for (const auto& [peer, link] : links.all())
    if (is_two_way(link) && sessions.is_waiting(peer)) next = std::min(next, young_until(peer));
  return next;
}

}  // namespace starling::gossip
