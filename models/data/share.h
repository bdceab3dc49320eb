// Share: one node's view of a data set: which rows are its own, and which it evaluates on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "models/data/dataset.h"
#include "models/data/partition.h"

namespace starling::models {

// Some rows of a data set; valid until the next call of the share.
struct Selection {
  const Dataset* set = nullptr;
  std::span<const std::uint32_t> rows;
  double usable = 1;  // the share of the candidate rows that were not left out
  std::size_t available = 0;  // rows that the selection could have had
};

class Share {
 public:
  // Holds no rows until assigned. The data may be shared with other nodes.
  Share(std::shared_ptr<const Data> data, DataOptions options)
      : data_(std::move(data)), options_(std::move(options)) {}

  // Sets this node's rows; returns those of every node.
  Assignment assign(const optim::Shard& shard);

  // Leaves out the rows whose class is marked, from now on, in training and in evaluation.
  void leave_out(std::vector<bool> classes);

  const Data& data() const { return *data_; }
  const Dataset& train() const { return data_->train; }
  const DataOptions& options() const { return options_; }
  const Rows& rows() const { return rows_; }
  const std::string& description() const { return description_; }

  // The rows of a batch of indices of own samples; an empty batch means all samples.
  Selection batch(std::span<const std::uint32_t> batch);
  // `limit` rows of the held-out set spread evenly, all for 0; of the own samples if nothing is
  // held out, and of all samples for a node without own ones.
  Selection evaluation(std::size_t limit);

 private:
  std::shared_ptr<const Data> data_;
  DataOptions options_;
  Rows rows_;
  std::vector<bool> left_out_;  // by class; empty: none
  std::string description_ = "no samples yet";
  Rows selected_;  // buffers
  Rows candidates_;

  bool is_left_out(const Dataset& set, std::uint32_t row) const;
};

}  // namespace starling::models
