// Pairing: with whom a node of schedule `pairwise` exchanges. It proposes its vector to one
// neighbour, by chance, among those whose edge is free of pairs that are not whole; each such pair
// is one proposal. Others propose meanwhile, and are answered in the order of their ids.
#pragma once

#include <map>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/edges/patience.h"
#include "gossip/edges/sessions.h"
#include "gossip/options.h"

namespace starling::gossip {

class Pairing {
 public:
  explicit Pairing(const Options& options);

  // Null where no edge is free. Draws.
  const Link* choose(const Links& links, const Sessions& sessions);
  void proposed(Time now, NodeId peer) { proposed_at_[peer] = now; }
  void answered(Time now, NodeId peer);
  // One who has proposed and waits; null where nobody does.
  const Link* find_asker(const Links& links, const Sessions& sessions) const;

  // Whether so few proposals wait, of those that are young, that the next local step may begin.
  bool may_step(Time now, const Links& links, const Sessions& sessions) const;
  // When one of those that wait is not young any more.
  Time deadline(const Links& links, const Sessions& sessions) const;

 private:
  Time young_until(NodeId peer) const;

  Options options_;
  Prng prng_;
  bool is_starved_ = false;  // no edge was free at the last step
  std::map<NodeId, Time> proposed_at_;
  Recent answers_;  // how long they took
};

}  // namespace starling::gossip
