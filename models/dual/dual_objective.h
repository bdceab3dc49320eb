// DualObjective: what a site with some columns of the rows of all sites adds to their consensus.
// Parameters are the slopes of the loss, theta_r = l'(score of row r), for each row in common and
// each output; F_i is phi_i of dual_step.h times kScale. Learned by algorithms with an exact local
// step alone. The model of the site follows from the slopes (DataSummary::model_of).
//
// While the site with the target is not a member, all stay where they are: without l* the slopes
// would go to 0, and without what its edges carry to where no weights follow from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/dual/own_columns.h"
#include "optim/local/objective.h"

namespace starling::models {

// optim.admm-relaxation with columns apart, where nobody sets it: the optimum is reached in up to
// half as many rounds as with 0.5, and hardly ever in more.
inline constexpr double kDualRelaxation = 0.8;

template <class S>
class DualObjective final : public optim::Objective<S> {
 public:
  // REQUIRES a table with keys.
  DualObjective(ModelOptions model, DataOptions options, std::shared_ptr<const Data> data)
      : model_(std::move(model)), options_(std::move(options)), data_(std::move(data)) {}

  std::string survey() const override;
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override { return own_ ? encode(own_->matched()) : std::string(); }
  void assign(const optim::Shard& shard) override { members_ = shard.members; }
  optim::DataSummary describe() const override;

  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return own_ ? own_->rows() : 0; }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  // The loss that the slopes tell of, at any site; of all rows, whatever the batch.
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override;
  bool minimize(std::span<const S> c, double mu, std::span<S> x) override;
  // As the slopes tell: once the sites agree, of the scores of all sites for the rows in common.
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override;

  optim::State<S> state() override;

 private:
  // Whether a member has the target that is learned.
  bool has_target() const;
  RowMatrix slopes(auto x) const;
  double scale() const;

  ModelOptions model_;
  DataOptions options_;
  std::shared_ptr<const Data> data_;
  std::vector<NodeId> members_;
  std::optional<OwnColumns> own_;  // once founded
  std::optional<DualStep> step_;
  std::vector<RowTruth> truths_;
  std::vector<optim::ParameterBlock> blocks_;
};

extern template class DualObjective<float>;
extern template class DualObjective<double>;

}  // namespace starling::models
