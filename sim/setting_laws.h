// SettingLaws: what holds of settings that change while nodes run (gossip/node/setting_log.h):
//   settings hold from their round   every job with local steps has as many as the changes say that
//                                    its node knows when it begins, and is of their algorithm;
//                                    a node that is behind may be ahead with them
//   all know the same settings       at the end
#pragma once

#include <cstddef>

#include "sim/ledger.h"
#include "sim/world.h"

namespace starling::sim {

class SettingLaws {
 public:
  // REQUIRES a world that outlives it.
  SettingLaws(World& world, Report report) : world_(&world), report_(std::move(report)) {}

  void see(std::size_t node, const gossip::Output& output);
  // REQUIRES that the nodes have met for some seconds.
  void expect_same();

 private:
  std::uint64_t reached() const;  // the highest round of a node

  World* world_;
  Report report_;
  bool is_any_ = false;  // change so far
};

}  // namespace starling::sim
