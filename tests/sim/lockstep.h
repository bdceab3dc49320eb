// Lockstep: trainers that exchange their offers by hand, every round on every edge. The mathematics
// of an algorithm without messages, a hundred times as fast as the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/reference.h"
#include "topology/graph.h"
#include "topology/options.h"
#include "topology/weights.h"

namespace starling::test {

class Lockstep {
 public:
  // Node i holds the i-th part of the reference problem.
  Lockstep(topology::Kind kind, const optim::Options& training, ReferenceShape shape = {});
  // `nodes` trainers of any kind, of an algorithm that overlaps or not.
  Lockstep(topology::Kind kind, std::size_t nodes, bool overlaps,
           const sim::TrainerFactory& make_trainer);

  void run(std::uint64_t rounds);
  // sqrt(mean_i ||x_i - x*||^2)
  double error() const;
  const optim::Trainer& trainer(std::size_t node) const { return *trainers_.at(node); }
  // Of its last local step.
  const std::optional<std::string>& trouble(std::size_t node) const { return troubles_.at(node); }

 private:
  optim::Done offer_of(std::size_t node);
  void absorb(std::size_t node, const std::vector<optim::Done>& offers);
  std::vector<std::uint64_t> edges(std::size_t node) const;

  bool overlaps_;
  topology::Graph graph_;
  topology::Weights weights_;
  std::vector<std::unique_ptr<optim::Trainer>> trainers_;
  std::vector<std::optional<std::string>> troubles_;
  std::uint64_t round_ = 0;
};

}  // namespace starling::test
