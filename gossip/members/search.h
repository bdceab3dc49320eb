// Search: sends joins to find members: to seeds at whose address no member is known, and to the
// dead members in turn, in case they are only cut off. A hidden dead member must send joins itself.
#pragma once

#include <deque>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/members/seeds.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Search {
 public:
  // `roster` and `prng` outlive this.
  Search(const Options& options, Roster& roster, Prng& prng, Time now);

  Seeds& seeds() { return seeds_; }
  const Seeds& seeds() const { return seeds_; }
  // The lookup of a host name ended.
  void resolved(Time now, const Resolved& name);
  // Whether a seed named by the user may still lead to other members.
  bool awaits_seed() const;
  // Makes all joins due now.
  void hurry(Time now);
  // `is_contested`: another node may have this node's name. Then one member is sent a join; it
  // checks the namesake and answers with its table.
  void tick(Time now, bool is_contested, Outbox& out);
  Time deadline() const { return next_ask_; }

 private:
  // Whether a present member is at that address.
  bool knows(const Endpoint& control) const;
  void ask_the_lost(Time now, Outbox& out);
  // Forgets members that left long ago and, if too many are absent, those absent longest.
  void forget_the_gone(Time now, Outbox& out);
  void ask(NodeId lost, Outbox& out);

  Roster& roster_;
  Prng& prng_;
  Seeds seeds_;
  Time next_ask_;
  std::deque<NodeId> asked_;  // the dead members that were sent the last joins
};

}  // namespace starling::gossip
