// ExternalData: the duties of a node whose data only its trainer knows. Founders agree on the
// tensors of the model, and on whose initial parameters all begin with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optim/local/local_data.h"

namespace starling::daemon {

class ExternalData : public optim::LocalData {
 public:
  // `schema` as TensorTable has it, `initial` a hash of the first trainer's parameters, `samples`
  // what it holds.
  ExternalData(std::string schema, std::uint64_t initial, std::size_t samples);

  // The schema, and in a last line the hash of the initial parameters.
  std::string survey() const override;
  // All begin with the parameters that some have begun with, else with those of the first survey.
  // The error names the first tensor that differs.
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override { return schema_; }
  void assign(const optim::Shard& shard) override { shard_ = shard; }
  optim::DataSummary describe() const override;

  // The node has the model of a founder.
  void adopted() { initial_ = common_; }
  void set_samples(std::size_t samples) { samples_ = samples; }
  const optim::Shard& shard() const { return shard_; }

 private:
  std::string schema_;
  // Hashes of this node's initial parameters and of those that all begin with; the second is empty
  // until it is known.
  std::string initial_, common_;
  std::size_t samples_;
  optim::Shard shard_;
};

}  // namespace starling::daemon
