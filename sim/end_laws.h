// EndLaws: laws of the end of a run: nodes that see each other end with one model; see checker.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gossip/status.h"
#include "sim/ledger.h"
#include "sim/world.h"

namespace starling::sim {

class EndLaws {
 public:
  // REQUIRES a world that outlives it.
  EndLaws(World& world, Report report)
      : world_(&world), report_(std::move(report)), seen_(world.options().nodes) {}

  void see(std::size_t node, const gossip::Output& output);
  // Who knows that the run is over, or sees a member that has finished, finishes in time. To be
  // asked again and again while there are no faults.
  void expect_end();
  // Of those that have finished, any two that see each other, or that both came to their end after
  // all agreed on the members, have one model of as many nodes.
  void expect_one_model(Time agreed);
  // Whether the end has begun for any node.
  bool has_begun() const { return has_begun_; }

 private:
  struct Seen {
    std::uint64_t life = 0;
    Time began = kNever;                         // its end
    Time due = kNever;                           // since when it has reason to end
    std::optional<gossip::EndModel> model = {};  // when it had finished
  };

  Seen& seen_of(std::size_t node);
  void see_model(std::size_t node);
  bool have_met(std::size_t node, std::size_t other, Time agreed);
  void expect_same(std::size_t node, std::size_t other);
  gossip::EndModel model_of(std::size_t node);
  double length(std::size_t node) const;
  bool sees_finished(std::size_t node) const;

  World* world_;
  Report report_;
  std::vector<Seen> seen_;
  bool has_begun_ = false;
  double longest_ = 0;  // of the models with which honest nodes came to their end
};

}  // namespace starling::sim
