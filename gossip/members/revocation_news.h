// RevocationNews: how members learn which certificates the cluster key has revoked. A node to which
// a list is news tells some others at once, so that all know within a few hops; members left out
// learn of it from the next exchange of tables. Every node finds by itself who is revoked.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/members/rumor_law.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class RevocationNews {
 public:
  // All outlive this.
  RevocationNews(const Roster& roster, RumorLaw& law, Prng& prng)
      : roster_(roster), law_(law), prng_(prng) {}

  // A list from anywhere: it is taken over if the cluster key has signed it and it is later than
  // the known one.
  void receive(Time now, const Revoked& news, Outbox& out);
  // The member knows the list of that number: it gets a later one.
  void compare(NodeId member, std::uint64_t known, Outbox& out);

 private:
  void learn(Time now, const Revocations& list, Outbox& out);

  const Roster& roster_;
  RumorLaw& law_;
  Prng& prng_;
};

}  // namespace starling::gossip
