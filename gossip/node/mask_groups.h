// MaskGroups: with whom this node masks what it gives (exchange.masks): the nodes of the topology
// that train, with the incarnations and keys of their records. Members that are paused or have
// finished give nothing, so that a group with them would have no mean.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/masks.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "topology/graph.h"

namespace starling::gossip {

class MaskGroups {
 public:
  explicit MaskGroups(const Options& options)
      : cluster_(stable_hash(options.cluster)),
        is_masked_(options.needs.is_masked),
        credentials_(options.credentials) {}

  // Follows the current members. `sites`: of the topology; null: none yet.
  void follow(const Roster& members, const std::vector<topology::Site>* sites);
  // Null: none, or exchange.masks is off.
  const std::shared_ptr<const MaskGroup>& group() const { return group_; }
  // Why there is none, for people; empty: there is one, or none is wanted.
  const std::string& reason() const { return reason_; }

 private:
  // Of a member, as of the last time.
  struct Known {
    NodeId id;
    std::uint64_t incarnation = 0;
    std::string certificate;

    bool operator==(const Known&) const = default;
  };
  void gather(const Roster& members);

  const std::uint64_t cluster_;
  const bool is_masked_;
  const std::shared_ptr<const Credentials> credentials_;  // null: this node has no key
  std::vector<Known> known_;
  std::shared_ptr<const MaskGroup> group_;
  std::string reason_;
};

}  // namespace starling::gossip
