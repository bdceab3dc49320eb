// Neighborhood: the peers that this node wants edges with. They follow from the topology and the
// ready members that agree, without the graph of all nodes; only turns need that graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/edges/turns.h"
#include "gossip/members/roster.h"
#include "gossip/status.h"

namespace starling::gossip {

class Neighborhood {
 public:
  explicit Neighborhood(const topology::Options& options);

  // Whether the members changed since the last follow().
  bool has_news(const Roster& members) const { return version_ != members.version(); }
  // Whether to follow the news now: departures at once, new members after a pause.
  bool is_due(Time now, const Roster& members) const {
    return now >= next_ || departures_ != members.departures();
  }
  Time next() const { return next_; }
  // Another topology: its edges are found at the next follow(), which is due at once.
  void take(Time now, const topology::Options& options);
  // Makes all members news, due at once.
  void restart(Time now) { version_ = 0, next_ = now; }
  // Follows the current members. Returns false, and keeps the edges, if the topology has no place
  // for them.
  bool follow(Time now, const Roster& members);

  // Ascending by vertex; empty before this node is ready.
  const std::vector<WantedEdge>& wanted() const { return wanted_; }
  // Null unless the graph changes from round to round, and before this node is ready.
  const std::shared_ptr<const Turns>& turns() const { return turns_; }
  // Of the members from which the topology is computed those with data, in its order; empty before
  // it is.
  const std::vector<NodeId>& sharing() const { return sharing_; }
  // Hash of the members from which the topology is computed.
  std::uint64_t view() const { return view_; }
  const TopologyStatus& status() const { return status_; }
  // That nobody can dial any of the members, if there are several.
  std::vector<std::string> warnings() const;

 private:
  // The pause between two looks at new members. Longer: new members get their edges later. Shorter:
  // when many nodes join at once, each node computes its edges once per newcomer.
  static constexpr Duration kFollowEvery = std::chrono::milliseconds(50);

  std::uint64_t version_ = 0;     // Roster::version() that the edges follow from
  std::uint64_t departures_ = 0;  // Roster::departures() at that time
  Time next_{};
  std::uint64_t view_ = 0;
  std::vector<NodeId> sharing_;
  std::vector<WantedEdge> wanted_;
  TopologyStatus status_;
  std::shared_ptr<const Turns> turns_;
};

}  // namespace starling::gossip
