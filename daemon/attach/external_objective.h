// ExternalObjective: loss and gradient of a trainer of the user's own, in mode gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/external_data.h"
#include "daemon/attach/tensor_io.h"
#include "daemon/attach/trainer_port.h"
#include "optim/local/objective.h"

namespace starling::daemon {

// The model of the first trainer, and of all later ones.
template <class S>
struct ExternalModel {
  std::vector<optim::ParameterBlock> blocks;
  std::vector<S> initial;                         // empty once training has begun
  std::vector<optim::ParameterBlock> statistics;  // some of the blocks
};

template <class S>
class ExternalObjective final : public optim::Objective<S> {
 public:
  // All outlive the objective.
  ExternalObjective(const ExternalModel<S>& model, TrainerPort& port, ExternalData& data)
      : model_(&model), port_(&port), data_(&data) {}

  std::span<const optim::ParameterBlock> blocks() const override { return model_->blocks; }
  std::size_t samples() const override { return data_->describe().samples; }
  void initialize(std::span<S> x, std::uint64_t) const override {
    std::ranges::copy(model_->initial, x.begin());
  }
  // Not a number if there is no trainer or it refuses.
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override;
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override;

  std::string survey() const override { return data_->survey(); }
  Result<void> found(std::span<const std::string> surveys) override {
    return data_->found(surveys);
  }
  std::string foundation() const override { return data_->foundation(); }
  void assign(const optim::Shard& shard) override { data_->assign(shard); }
  optim::DataSummary describe() const override { return data_->describe(); }

  // Why the last gradient is not a number; empty: it is one.
  const std::string& refusal() const { return refusal_; }

 private:
  double refuse(std::string reason);

  const ExternalModel<S>* model_;
  TrainerPort* port_;
  ExternalData* data_;
  std::string refusal_;
  double loss_ = 0;  // the last
};

// The last evaluation of a trainer, or the loss if it has measured nothing.
optim::Evaluation evaluation_of(const Metrics& metrics, double loss);

}  // namespace starling::daemon
