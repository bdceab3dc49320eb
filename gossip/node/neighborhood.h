// Neighborhood: the peers that this node wants edges with. They follow from the topology and the
// ready members that agree, by a rule of one vertex, without the graph of all nodes; partners need
// that graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gossip/edges/links.h"
#include "gossip/edges/partners.h"
#include "gossip/members/roster.h"
#include "gossip/status.h"

namespace starling::gossip {

class Neighborhood {
 public:
  // `has_partners`: a schedule exchanges by partners.
  Neighborhood(const topology::Options& options, bool has_partners);

  // Follows the current members. Returns false, and changes nothing, if the topology has no place
  // for them.
  bool follow(const Roster& members);

  // Ascending by vertex; empty before this node is ready.
  const std::vector<WantedEdge>& wanted() const { return wanted_; }
  // Null where no schedule exchanges by partners, and before this node is ready.
  const std::shared_ptr<const Partners>& partners() const { return partners_; }
  // Hash of the members from which the topology is computed.
  std::uint64_t view() const { return view_; }
  const TopologyStatus& status() const { return status_; }

 private:
  std::uint64_t view_ = 0;
  std::vector<WantedEdge> wanted_;
  TopologyStatus status_;
  bool has_partners_;
  std::shared_ptr<const Partners> partners_;
};

}  // namespace starling::gossip
