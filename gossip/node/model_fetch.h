// ModelFetch: asks members that tell a model of the end for it, one after the other, neighbours
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "base/time.h"
#include "gossip/node/tally_tree.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class ModelFetch {
 public:
  // Both outlive this.
  ModelFetch(const Options& options, const TallyTree::Around& around)
      : options_(options), around_(around) {}

  // This node needs the model of that content hash; 0: none. `is_patient`: it may come from another
  // side, so that nobody is asked for a while. `refused`: are not asked.
  void tick(Time now, std::uint64_t told, bool is_patient, const std::set<NodeId>& refused,
            Outbox& out);
  // Whether that member was asked last.
  bool awaits(NodeId id) const { return donor_ == id; }
  bool is_busy() const { return told_at_ != kNever; }

 private:
  void choose(std::uint64_t told, const std::set<NodeId>& refused);

  const Options& options_;
  TallyTree::Around around_;
  Time told_at_ = kNever;  // since when it is needed
  std::optional<NodeId> donor_;
  std::size_t donors_ = 0, asks_ = 0;  // donors so far; questions to this one
  Time next_ask_{};
};

}  // namespace starling::gossip
