// ExternalData: the duties of a node whose data only its trainer knows. Founders agree on the
// tensors of the model, on whose initial parameters all begin with, and where nodes weigh by their
// samples on the mean number of those.
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
  // what it holds. `weighs`: the loss of a node weighs by its samples (data.weight).
  ExternalData(std::string schema, std::uint64_t initial, std::size_t samples, bool weighs);

  // The schema, where nodes weigh the number of samples in a line, and in a last line the hash of
  // the initial parameters.
  std::string survey() const override;
  // All begin with the parameters that some have begun with, else with those of the first survey.
  // The error names the first tensor that differs, or says that no samples were told.
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override;
  void assign(const optim::Shard& shard) override { shard_ = shard; }
  optim::DataSummary describe() const override;

  // The node has the model of a founder.
  void adopted() { initial_ = common_; }
  void set_samples(std::size_t samples) { samples_ = samples; }
  // Of this node's loss in the sum of all: its samples over the mean of the founders'; 1 where all
  // weigh the same.
  double weight() const;
  const optim::Shard& shard() const { return shard_; }

 private:
  std::string head(double samples) const;

  std::string schema_;
  // Hashes of this node's initial parameters and of those that all begin with; the second is empty
  // until it is known.
  std::string initial_, common_;
  std::size_t samples_;
  bool weighs_;
  double mean_samples_ = 0;  // of the founders; 0 until founded
  optim::Shard shard_;
};

}  // namespace starling::daemon
