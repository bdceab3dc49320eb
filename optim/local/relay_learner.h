// RelayLearner: a node without data. F_i is zero, and it takes no step of its own, whatever the
// optimizer, weight decay or momentum of the others: its x moves by averaging, by what exact
// algorithms add, which must add up over all nodes, and with terms to their minimum. So the F_i of
// the other nodes keep their weights, and the optimum of the network is that of the others.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/local/learner.h"
#include "optim/local/local_data.h"

namespace starling::optim {

template <class S>
class RelayLearner final : public Learner<S>, public LocalData {
 public:
  // For that model; without blocks: it is not known yet.
  RelayLearner(std::string schema, std::vector<ParameterBlock> blocks)
      : schema_(std::move(schema)), blocks_(std::move(blocks)) {}

  std::span<const ParameterBlock> blocks() const override { return blocks_; }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  // All steps at once. With terms, that is one exact step.
  Report advance(std::span<const S> x, const LocalSteps<S>& steps, const Moves<S>& to) override;
  // There are no samples: a loss of 0.
  Evaluation evaluate(std::span<const S>, std::size_t) override { return {}; }

  // Keeps what others found on, for those who ask this node for a model.
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override { return foundation_; }
  void assign(const Shard&) override {}
  DataSummary describe() const override;

 private:
  // Writes into moved_ by how much x moves.
  void move(std::span<const S> x, const LocalSteps<S>& steps);

  std::string schema_, foundation_;
  std::vector<ParameterBlock> blocks_;
  std::vector<S> moved_;
};

extern template class RelayLearner<float>;
extern template class RelayLearner<double>;

}  // namespace starling::optim
