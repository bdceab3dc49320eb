// Neighborhood: whom this node wants edges with. It follows from the ready members that agree and
// the topology, by the rule of the kind, without the graph of all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gossip/edges/links.h"
#include "gossip/members/roster.h"
#include "gossip/status.h"

namespace starling::gossip {

class Neighborhood {
 public:
  explicit Neighborhood(const topology::Options& options);

  // Looks at the members anew. False: the topology has no place for them, and all stays.
  bool follow(const Roster& members);

  // Ascending by vertex; none before this node is ready.
  const std::vector<WantedEdge>& wanted() const { return wanted_; }
  // Hash of the members that the topology is of.
  std::uint64_t view() const { return view_; }
  const TopologyStatus& status() const { return status_; }

 private:
  std::uint64_t view_ = 0;
  std::vector<WantedEdge> wanted_;
  TopologyStatus status_;
};

}  // namespace starling::gossip
