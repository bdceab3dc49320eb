// Share: one node's view of a data set: which rows are its own, and which it evaluates on. If the
// data have a reader, a share keeps its own rows only: it drops the others in the first refresh(),
// and has the reader read those that assign() adds later. Until they are there it goes on with the
// rows that it has. A shard with held-out rows deals these like the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/partition.h"

namespace starling::models {

// Some rows of a data set; valid until the next call of the share.
struct Selection {
  const Dataset* set = nullptr;
  std::span<const std::uint32_t> rows;
  double usable = 1;          // the share of the candidate rows that were not left out
  std::size_t available = 0;  // rows that the selection could have had
};

class Share {
 public:
  // Holds no rows until assigned. The data may be shared with other nodes.
  Share(std::shared_ptr<const Data> data, DataOptions options);

  // Sets this node's rows, once it has them; returns those of every node.
  Assignment assign(const optim::Shard& shard);
  // Takes over rows that were read; returns whether rows() or notes() have changed.
  bool refresh();

  // Leaves out the rows whose class is marked, from now on, in training and in evaluation.
  void leave_out(std::vector<bool> classes);

  const Data& data() const { return *data_; }
  // All rows, or those that are kept; with held-out rows, this node's.
  const Dataset& train() const { return with_held_out_ ? *with_held_out_ : dealt(); }
  const DataOptions& options() const { return options_; }
  // This node's rows, as indices of train(); ascending.
  const Rows& rows() const { return rows_; }
  // For people: why the last rows that were to be read are not there; empty if they are.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& description() const { return description_; }

  // The rows of a batch of indices of own samples; an empty batch means all samples.
  Selection batch(std::span<const std::uint32_t> batch);
  // `limit` rows of the held-out set spread evenly, all for 0; of the own samples if nothing is
  // held out, and of all samples for a node without own ones.
  Selection evaluation(std::size_t limit);

 private:
  const Dataset& dealt() const { return own_ ? *own_ : data_->train; }
  Assignment deal(const optim::Shard& shard) const;
  // Of all rows, those that a node with this assignment needs.
  Rows needed(const Assignment& assignment) const;
  void keep(Dataset rows);
  // That of kept_.
  void choose(const Assignment& assignment);
  bool is_left_out(const Dataset& set, std::uint32_t row) const;

  std::shared_ptr<const Data> data_;  // without rows to train on once there are own ones
  DataOptions options_;
  Dataset all_;                       // with a reader: what deals out all rows, without features
  std::optional<Dataset> own_;        // the rows that are needed for kept_; nothing: all rows
  std::optional<optim::Shard> kept_;  // nothing: not assigned
  std::optional<optim::Shard> read_;  // whose rows are being read
  std::optional<Dataset> with_held_out_;  // own rows, and after them own ones of the held-out rows
  bool is_new_ = false;                   // assigned, and nothing dropped since
  Rows rows_;
  std::vector<std::string> notes_;
  std::vector<bool> left_out_;  // by class; empty: none
  std::string description_ = "no samples yet";
  Rows selected_;  // buffers
  Rows candidates_;
};

}  // namespace starling::models
