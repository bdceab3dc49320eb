// DriftWatch: whether the models drift apart: this node's distance from the mean grows round after
// round, and is large beside the model. A learning rate that is too large for an algorithm on a
// graph that mixes slowly does so, long before a step is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace starling::gossip {

class DriftWatch {
 public:
  // The distance after that round, relative to the model.
  void look(std::uint64_t round, std::optional<double> distance);
  // Empty: they do not.
  std::string warning() const;

 private:
  // Distances are compared by their means over so many rounds. Larger: it is said later. Smaller:
  // the noise of batches counts as growth.
  static constexpr std::uint64_t kRounds = 50;
  // So many in a row have grown, each by that factor, to that distance at least: models that all
  // begin alike come apart for a while, and not that far.
  static constexpr int kGrowths = 4;
  static constexpr double kGrowth = 1.05, kFar = 0.5;

  std::uint64_t begun_ = 0;  // the first round of this mean
  double sum_ = 0;
  int count_ = 0;
  double mean_ = 0, first_ = 0;  // the last mean, and that before they grew
  int growths_ = 0;              // so far
};

}  // namespace starling::gossip
