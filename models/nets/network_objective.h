// NetworkObjective: a Network on a node's share of any data set: linear, logistic and softmax
// regression, the mlp and the net. A batch is gathered into a dense block, and large ones go block
// by block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/data/share.h"
#include "models/linear/feature_map.h"
#include "models/linear/normal_equations.h"
#include "models/nets/class_tally.h"
#include "models/nets/model_card.h"
#include "models/nets/model_options.h"
#include "models/nets/network.h"
#include "models/nets/own_fit.h"
#include "optim/local/objective.h"

namespace starling::models {

template <class S>
class NetworkObjective final : public optim::Objective<S> {
 public:
  // REQUIRES a kind, not auto, that fits the data.
  NetworkObjective(ModelOptions model, Share share);

  std::string survey() const override;
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override { return survey_ ? encode(*survey_) : std::string(); }
  void assign(const optim::Shard& shard) override;
  bool refresh() override;

  optim::DataSummary describe() const override;

  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return share_.rows().size(); }
  void initialize(std::span<S> x, std::uint64_t seed) const override;
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override;
  double clipped_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                          const optim::Clip& clip, std::span<S> gradient) override;
  // Of linear models, up to kClosedFormLimit parameters.
  bool minimize(std::span<const S> c, double mu, std::span<S> x) override;
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override;

 private:
  void make_network();
  void look_at_own_rows();
  NormalEquations normal_equations();
  std::string strangeness() const;  // as in DataSummary
  // With the weights of the classes, for training.
  Block<S> weighted(Block<S> block) const {
    if (!class_weights_.empty()) block.truth.weights = class_weights_.data();
    return block;
  }
  // Calls visit(block, is_first) for every block of the selection.
  void for_each_block(const Selection& selection, auto visit);

  ModelOptions model_;
  Share share_;
  std::optional<DealtFile> dealt_;  // see Survey
  FeatureMap map_;
  std::optional<Survey> survey_;  // of all founders, of a table
  double l2_;                     // once founded
  std::optional<ClassTally::Rare> rare_;
  std::vector<S> class_weights_;  // empty: all count 1
  Rows fitted_;                   // for own_fit_
  OwnFit own_fit_;
  std::vector<std::string> notes_;
  std::optional<Network<S>> network_;          // once the features are known
  std::vector<optim::ParameterBlock> blocks_;  // of the network
  // Of linear models on generated data, over the present shares of all members, as numbers of S.
  std::vector<double> optimum_;
  std::optional<NormalEquations> equations_;  // of the current samples; on demand
  std::vector<S> inputs_;                     // buffers of one block
  std::vector<S> targets_;
  std::vector<std::int32_t> labels_;
};

extern template class NetworkObjective<float>;
extern template class NetworkObjective<double>;

}  // namespace starling::models
