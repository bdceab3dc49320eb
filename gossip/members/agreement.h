// Agreement: nodes that train together have the same value of every agreed key. A member's record
// holds a hash of its values, so that each node knows at once who differs, whether or not either of
// them wants an edge. Those who differ get no edge, and both ends tell each other their values.
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

  // Finds who differs, and asks one of each kind for its values until they have come.
  void tick(Time now, const Roster& members, Outbox& out);
  Time deadline(const Roster& members) const;
  // Keeps the sender's values where they are those of its record, and answers if it asks.
  void receive(const Envelope& from, const Terms& terms, const Roster& members, Outbox& out);

  // "no edge to node-3: it has topology.kind=torus; this node ring", for the first few members of
  // each kind.
  std::vector<std::string> warnings() const;
  // How many more there are; empty for none.
  std::string remainder() const;

 private:
  // Members of one agreement that is not this node's.
  struct Kind {
    std::vector<NodeId> members;     // in natural order of names
    std::vector<std::string> names;  // of the first few
    std::vector<Term> terms;         // empty: not heard yet
    Time next_ask{};
    Duration pause{};
  };
  void look(Time now, const Roster& members);
  void ask(Time now, Kind& kind, const Roster& members, Outbox& out);

  std::vector<Term> terms_;
  std::uint64_t hash_;
  Duration retry_;
  std::map<std::uint64_t, Kind> kinds_;  // by hash
  std::uint64_t members_version_ = 0;    // that they are of
  Time next_look_{};
};

}  // namespace starling::gossip
