// SparseLogistic: logistic regression of two classes on sparse rows that are never made dense.
//   F(w, b) = mean over rows of log(1 + exp(-s (w.x + b))) + l2 / 2 |w|^2,  s = -1 or +1
// A gradient costs the entries of the batch and one pass over the parameters: w, then b.
#pragma once

#include <algorithm>
#include <vector>

#include "models/data/share.h"
#include "models/linear/loss.h"
#include "optim/local/objective.h"

namespace starling::models {

template <class S>
class SparseLogistic final : public optim::Objective<S> {
 public:
  // REQUIRES SparseFeatures of two classes.
  SparseLogistic(double l2, Share share);

  void assign(const optim::Shard& shard) override { share_.assign(shard); }
  bool refresh() override { return share_.refresh(); }

  optim::DataSummary describe() const override;

  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return share_.rows().size(); }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override;
  double clipped_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                          const optim::Clip& clip, std::span<S> gradient) override;
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override;

 private:
  // Writes w.x + b of every row into outputs_, and its label.
  void predict(std::span<const S> x, const Selection& selection);
  Score take_score(std::size_t rows, S scale);

  double l2_;
  Share share_;
  std::vector<optim::ParameterBlock> blocks_;
  std::vector<S> outputs_;  // buffers of one batch
  std::vector<std::int32_t> labels_;
};

extern template class SparseLogistic<float>;
extern template class SparseLogistic<double>;

}  // namespace starling::models
