// ExternalData: the duties of a node whose data only its trainer knows. Founders agree on the
// tensors of the model, on the initial parameters, and, if nodes weigh by their samples, on the
// mean number of samples.
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
  // `schema`: see TensorTable; `initial`: a hash of the first trainer's parameters; `samples`: how
  // many it holds. `weighs`: the loss of a node weighs by its samples (data.weight).
  ExternalData(std::string schema, std::uint64_t initial, std::size_t samples, bool weighs);

  // The schema, if nodes weigh a line with the number of samples, and a last line with the hash of
  // the initial parameters.
  std::string survey() const override;
  // If some founders have already started, all take their initial parameters; otherwise those of
  // the first survey. The error names the first tensor that differs, or the missing number of
  // samples.
  Result<void> found(std::span<const std::string> surveys) override;
  std::string foundation() const override;
  void assign(const optim::Shard& shard) override { shard_ = shard; }
  optim::DataSummary describe() const override;

  // The node has the model of a founder.
  void adopted() { initial_ = common_; }
  void set_samples(std::size_t samples) { samples_ = samples; }
  // The weight of this node's loss in the sum: its samples over the founders' mean; 1 if all weigh
  // the same.
  double weight() const;
  const optim::Shard& shard() const { return shard_; }

 private:
  std::string head(double samples) const;

  std::string schema_;
  // Hashes of this node's initial parameters and of the common ones; the second is empty until
  // known.
  std::string initial_, common_;
  std::size_t samples_;
  bool weighs_;
  double mean_samples_ = 0;  // of the founders; 0 until founded
  optim::Shard shard_;
};

}  // namespace starling::daemon
