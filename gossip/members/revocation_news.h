// RevocationNews: how members learn which certificates the cluster key has revoked. A node that
// receives a new list sends it to some others at once, so that all have it within a few hops;
// members left out get it at the next push-pull. Every node determines itself who is revoked.
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
  // The member knows the list of number `known`: it is sent a later one.
  void compare(NodeId member, std::uint64_t known, Outbox& out);

 private:
  void learn(Time now, const Revocations& list, Outbox& out);

  const Roster& roster_;
  RumorLaw& law_;
  Prng& prng_;
};

}  // namespace starling::gossip
