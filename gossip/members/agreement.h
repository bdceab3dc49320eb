// Agreement: nodes that train together have the same value of every agreed key. A member's record
// holds a hash of its values, so each node knows at once which members differ, neighbours or not.
// Nodes that differ open no edge and send each other their values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/members/terms.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Agreement {
 public:
  explicit Agreement(const Options& options);

  // Finds the members that differ, and requests their values from one member of each kind.
  void tick(Time now, const Roster& members, Outbox& out);
  Time deadline(const Roster& members) const;
  // Keeps the sender's values if their hash is that of its record. Sends this node's in return if
  // the message asks for them.
  void receive(const Envelope& from, const Terms& terms, const Roster& members, Outbox& out);

  // For the first few members of each kind, such as "no edge to node-3: it has topology.kind=torus;
  // this node ring".
  std::vector<std::string> warnings() const;
  // The number of members not named in warnings(), as a sentence; empty if there are none.
  std::string remainder() const;

 private:
  // The members that share one agreement, which is not this node's.
  struct Kind {
    std::vector<NodeId> members;     // in natural order of names
    std::vector<std::string> names;  // of the first few members
    std::vector<Term> terms;         // their values; empty: not received yet
    Time next_ask{};
    Duration pause{};
  };
  void look(Time now, const Roster& members);
  void ask(Time now, Kind& kind, const Roster& members, Outbox& out);

  std::vector<Term> terms_;
  std::uint64_t hash_;
  Duration retry_;
  std::map<std::uint64_t, Kind> kinds_;  // by the hash of their values
  std::uint64_t members_version_ = 0;    // the roster's version at the last scan
  Time next_look_{};
};

}  // namespace starling::gossip
