// Roster: the records of all members that this node knows, and who of them is present. It keeps
// what Membership decides; the other parts of a node read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "gossip/members/suspicion.h"
#include "gossip/options.h"
#include "gossip/status.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class Roster {
 public:
  // What is known of another node.
  struct Entry {
    Member member;
    Liveness liveness = Liveness::alive;
    Time last_heard{};
    bool has_spoken = false;                  // itself, to this node
    std::optional<Suspicion> suspicion = {};  // of a suspect
    std::optional<Time> missed = {};          // when its host answered no connection
    std::optional<Time> refused = {};         // when that refused one
    bool is_reached = false;                  // in this life it has answered this node
    Time next_ask{};                          // of one that is dead
    Duration pause{};
    // A later record of the name at another address. It is believed when this one is dead.
    std::optional<Member> rival = {};
    Time rival_heard{};

    bool is_present() const { return liveness <= Liveness::suspect; }
  };
  using Entries = std::map<NodeId, Entry>;

  // REQUIRES that the node's own record outlives the roster at its address.
  explicit Roster(const Member& self) : self_(self), present_{&self} {}
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  // ---- what all parts of a node read
  NodeId self() const { return self_.id; }
  // Grows whenever a member appears, goes, comes back, or changes its phase.
  std::uint64_t version() const { return version_; }
  // Grows whenever a member goes.
  std::uint64_t departures() const { return departures_; }
  // This node has had a message of that member itself.
  bool has_spoken(NodeId id) const;
  // A live or suspect member, self included; null for others.
  const Member* find(NodeId id) const;
  // Nothing more comes of this life of that node: it began another, left, or is not known.
  bool has_ended(NodeId id, std::uint64_t incarnation) const;
  // Of the latest life of that node that was heard of; nothing where it is not known.
  std::optional<std::uint64_t> incarnation_of(NodeId id) const;
  // It has the values on which nodes must agree.
  bool agrees(const Member& member) const { return member.agreement == self_.agreement; }
  // Live and suspect members that have a model, self included, in natural order of names.
  std::vector<const Member*> ready() const;
  std::size_t ready_count() const;
  // Live and suspect members, self included, in the same order; until the version grows.
  const std::vector<const Member*>& present() const { return present_; }
  // Everybody known, in the same order.
  std::vector<MemberStatus> status(Time now) const;

  // ---- what Membership reads and changes
  Entries& others() { return others_; }
  const Entries& others() const { return others_; }
  // Of others(), those that are present, in order of ids.
  const std::vector<const Member*>& present_others() const { return present_others_; }
  const Endpoint* control_of(NodeId id) const;
  bool knows_endpoint(const Endpoint& control) const;
  // One of others() is present now, or is not any more. REQUIRES that the entry stays where it is.
  void list(const Entry& entry);
  void unlist(const Entry& entry);
  void touch() { ++version_; }

 private:
  const Member& self_;
  Entries others_;
  std::uint64_t version_ = 1;
  std::uint64_t departures_ = 0;
  std::vector<const Member*> present_;
  std::vector<const Member*> present_others_;
};

}  // namespace starling::gossip
