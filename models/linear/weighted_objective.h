// WeightedObjective: makes the mean over the nodes a mean over the samples of all nodes,
//   F_i' = w_i F_i,  w_i = m_i / m,  so that  (1/n) sum_i F_i' = sum_i m_i F_i / sum_i m_i
// where node i holds m_i samples, and m is the mean of m_j over the n founders j, from their
// surveys. Terms that all nodes share, such as l2, keep their weight. Any exact algorithm stays
// exact.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/local/objective.h"

namespace starling::models {

template <class S>
class WeightedObjective final : public optim::Objective<S> {
 public:
  explicit WeightedObjective(std::unique_ptr<optim::Objective<S>> inner)
      : inner_(std::move(inner)) {}

  // The number of samples and a colon, before the survey of the inner objective; in a foundation,
  // the mean number.
  std::string survey() const override;
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override;
  void assign(const optim::Shard& shard) override { inner_->assign(shard); }
  bool refresh() override { return inner_->refresh(); }

  optim::DataSummary describe() const override;

  std::span<const optim::ParameterBlock> blocks() const override;
  std::size_t samples() const override { return inner_->samples(); }
  void initialize(std::span<S> x, std::uint64_t seed) const override {
    inner_->initialize(x, seed);
  }
  // The gradient is of F_i'; the loss is F_i, as in evaluate(): people and the guard judge a node
  // by its own samples.
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override;
  double clipped_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                          const optim::Clip& clip, std::span<S> gradient) override;
  bool minimize(std::span<const S> c, double mu, std::span<S> x) override;
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override {
    return inner_->evaluate(x, limit);
  }

 private:
  double weight() const;

  std::unique_ptr<optim::Objective<S>> inner_;
  double mean_samples_ = 0;  // of the founders; 0 until founded
};

extern template class WeightedObjective<float>;
extern template class WeightedObjective<double>;

// The surveys of the inner objectives, without the numbers of samples.
Result<std::vector<std::string>> without_weights(std::span<const std::string> surveys);

}  // namespace starling::models
