// Roster: the records of all members that this node knows, and which members are present.
// Membership and its parts change the roster; the other parts of a node read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash_table.h"
#include "base/time.h"
#include "gossip/members/marks.h"
#include "gossip/members/member_counts.h"
#include "gossip/members/suspicion.h"
#include "gossip/options.h"
#include "gossip/status.h"
#include "gossip/wire/message.h"

namespace starling::gossip {

class Roster {
 public:
  // Who accuses a member of what; as in Rumor.
  struct Accusation {
    Liveness liveness = Liveness::suspect;
    NodeId accuser = {};
    std::string signature = {};
  };
  // This node's knowledge of another node.
  struct Entry {
    Record member;
    Liveness liveness = Liveness::alive;
    Time last_heard{};
    Time told{};                                // when the record arrived
    bool has_spoken = false;                    // it has sent this node a message
    std::unique_ptr<Suspicion> suspicion = {};  // null: not a suspect
    Accusation accusation = {};                 // of a suspect: the last one received
    bool is_hearsay = false;                    // known only from a rumor that it is dead
    std::optional<Time> missed = {};            // when its host answered no connection
    std::optional<Time> refused = {};           // when its host refused one
    bool is_reached = false;                    // this incarnation answered a ping of this node
    Time next_ask{};                            // when to send a dead member the next join
    Duration pause{};
    // A later record of this name at another address; it replaces this member once that is dead.
    std::optional<Record> rival = {};
    Time rival_heard{};
    bool is_listed = false;  // see list()
    std::size_t place = 0;   // in others()

    bool is_present() const { return liveness <= Liveness::suspect; }
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  // REQUIRES that the node's own record outlives the roster at its address.
  explicit Roster(const Record& self) : self_(self), present_{&self}, sorted_(1) {}
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  // ---- what all parts of a node read
  NodeId self() const { return self_->id; }
  const Member& own() const { return *self_; }
  const Record& own_record() const { return self_; }
  // Grows whenever a member appears, goes, comes back, or changes its phase.
  std::uint64_t version() const { return version_; }
  // Grows whenever a member dies or leaves.
  std::uint64_t departures() const { return departures_; }
  // A live or suspect member, self included; null for others.
  const Member* find(NodeId id) const;
  // The latest incarnation known of the node; nothing if the node is not known.
  std::optional<std::uint64_t> incarnation_of(NodeId id) const;
  // Whether the member has this node's values of the agreed keys.
  bool agrees(const Member& member) const { return member.agreement == self_->agreement; }
  // Records the look-up of a host. `problem`: why it has no address; empty: it has one.
  void note_host(const std::string& host, const std::string& problem);
  // Why this node and a present member may be unable to connect; empty: no reason is known.
  std::string obstacle(NodeId id) const;
  // Live and suspect members that have a model, self included, in natural order of names.
  std::vector<const Member*> ready() const;
  // Live and suspect members, self included, in the same order. Valid until one changes.
  std::vector<const Member*> present() const;
  std::size_t present_count() const { return present_.size(); }
  // All known members, dead and left ones included, in the same order.
  std::vector<MemberStatus> status(Time now) const;

  // ---- what Membership reads and changes
  Entries& others() { return others_; }
  const Entries& others() const { return others_; }
  // The marks of others(), in its order; see marks.h.
  const std::vector<std::uint64_t>& marks() const { return marks_; }
  // The present members of others(), in the order in which they appeared.
  const std::vector<NodeId>& present_others() const { return present_others_; }
  // The counts of the present others; `agreeing`: with this node.
  const MemberCounts& counts() const { return counts_; }
  // The rumor of the entry that this node sends. For a suspect it names the last accuser; for a
  // dead member it names this node.
  Rumor rumor_of(const Entry& entry) const;
  // Null: not known.
  Entry* entry(NodeId id) const;
  // REQUIRES that the member is not known.
  Entry& add(const Record& member);
  // Forgets a member that is not present.
  void erase(NodeId id);
  // Replace the entry's record. become() also sets its liveness and ends its suspicion.
  void become(Entry& entry, const Record& newer, Liveness now);
  void replace(Entry& entry, const Record& newer);
  // An entry of others() is present now (list), or not any more (unlist), which is a new version.
  // REQUIRES that the entry keeps its address while it is listed.
  void list(Entry& entry);
  void unlist(Entry& entry);
  void touch() { ++version_; }

 private:
  void sort() const;  // present_

  const Record& self_;
  Entries others_;
  HashMap<NodeId, Entry*> by_id_;
  std::vector<std::uint64_t> marks_;
  std::uint64_t version_ = 1;
  std::uint64_t departures_ = 0;
  MemberCounts counts_;
  // Sorted when they are read: at the start of a large cluster they grow more often than that.
  mutable std::vector<const Record*> present_;
  mutable std::size_t sorted_;  // the first so many are in natural order of names
  std::vector<NodeId> present_others_;
  std::map<std::string, std::string> unknown_hosts_;  // the problem of each host without an address
};

// Whether this incarnation sends no more messages: the node restarted, left, or is not known.
bool has_ended(const Roster& members, NodeId id, std::uint64_t incarnation);
// Live and suspect members that have a model, self included.
inline std::size_t ready_count(const Roster& members) {
  return members.counts().ready + (members.own().phase != Phase::joining);
}
inline std::size_t relay_count(const Roster& members) {
  return members.counts().relays + is_relay(members.own());
}
// The number of members that are dead or left recently, and how many of them are remembered. Dead
// members are sent joins, so that the parts of a partitioned network reconnect. Larger: machines
// that come under new names every day take more memory. Smaller: parts reconnect later.
inline std::size_t absent_count(const Roster& members) {
  return members.others().size() - members.present_others().size();
}
inline std::size_t absent_limit(const Roster& members) {
  constexpr std::size_t kLeast = 64;
  return std::max(kLeast, members.present_count());
}
// Whether another present member with data trains. A relay does rounds only as long as one does:
// alone or among relays, rounds would change no model, and their numbers would run away.
bool any_other_trains(const Roster& members);
// The present others that this node can dial or that can dial it.
std::vector<NodeId> within_reach(const Roster& members);
// Whether others are present, and all members, this node included, count as hidden.
bool are_all_hidden(const Roster& members);

}  // namespace starling::gossip
