// Membership: who is in the cluster, in the simplest honest form. Every node counts its own
// heartbeat up and passes the whole table to a few others each period; who has not been heard of
// for a while, by whatever way, is suspected and then dead (van Renesse, Minsky, Hayden: A gossip-
// style failure detection service, 1998). Each node decides for itself; any newer heartbeat
// revives. The seam for a better detector is this class: receive, tick, deadline, members.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/options.h"
#include "gossip/outbox.h"
#include "gossip/status.h"
#include "gossip/wire.h"

namespace starling::gossip {

class Membership {
 public:
  Membership(const Options& options, Time now);

  void receive(Time now, const Join& join, Outbox& out);
  void receive(Time now, const Gossip& gossip, Outbox& out);
  // Any message of a member shows that it lives.
  void heard_from(Time now, NodeId id, std::uint64_t incarnation);
  void tick(Time now, Outbox& out);
  Time deadline() const;

  void add_seed(const Endpoint& seed, Time now);
  // Says goodbye to everybody; nothing is sent after that.
  void leave(Outbox& out);

  // What others shall know of this node; goes out with the next gossip, soon when `phase` is
  // new.
  void set_self(Time now, Phase phase, std::uint64_t round, double loss);

  NodeId self() const { return self_.id; }
  // Grows whenever a member appears, goes, comes back, or changes its phase.
  std::uint64_t version() const { return version_; }
  // A live or suspect member, self included; null for others.
  const Member* find(NodeId id) const;
  // Live and suspect members that have a model, self included, in natural order of names.
  std::vector<const Member*> ready() const;
  // Live and suspect members, self included.
  std::vector<const Member*> present() const;
  std::vector<MemberStatus> status(Time now) const;
  // A seed or another member has answered since the start.
  bool connected() const { return connected_; }
  bool has_seeds() const { return !seeds_.empty(); }
  // Another node that runs under this node's name, if one was heard of.
  const std::optional<Endpoint>& impostor() const { return impostor_; }

 private:
  struct Entry {
    Member member;
    Liveness liveness = Liveness::alive;
    Time last_heard{};
  };
  struct Seed {
    Endpoint endpoint;
    Time next{};
    Duration pause{};
  };

  void merge(Time now, const Member& heard, Outbox& out);
  void heard_of_self(const Member& heard);
  void gossip(Time now, Outbox& out);
  void spread_news(Time now);
  void judge(Time now, Outbox& out);
  void ask_seeds(Time now, Outbox& out);
  Gossip table() const;
  bool is_present(const Entry& entry) const { return entry.liveness <= Liveness::suspect; }
  bool knows_endpoint(const Endpoint& control) const;

  Timing timing_;
  Member self_;
  std::map<NodeId, Entry> others_;
  std::vector<Seed> seeds_;
  Prng prng_;
  Time next_gossip_;
  Time last_gossip_{};
  std::size_t news_ = 0;  // gossips left that follow each other quickly
  Time next_reach_out_;   // to one of the dead, in case it is only cut off
  bool connected_ = false;
  std::uint64_t version_ = 1;
  std::optional<Endpoint> impostor_;
};

}  // namespace starling::gossip
