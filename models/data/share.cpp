#include "models/data/share.h"

#include <algorithm>

#include "base/check.h"

namespace starling::models {

Assignment Share::assign(const optim::Shard& shard) {
  Assignment assignment = assign_rows(data_->train, options_, shard);
  rows_ = assignment.parts[assignment.own];
  std::erase_if(rows_, [this](std::uint32_t row) { return is_left_out(data_->train, row); });
  description_ = assignment.description;
  return assignment;
}

Selection Share::batch(std::span<const std::uint32_t> batch) {
  if (batch.empty()) return {.set = &data_->train, .rows = rows_, .usable = 1};
  selected_.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ENSURE(batch[i] < rows_.size(), "a batch names samples that the node holds");
    selected_[i] = rows_[batch[i]];
  }
  return {.set = &data_->train, .rows = selected_, .usable = 1};
}

void Share::leave_out(std::vector<bool> classes) {
  left_out_ = std::move(classes);
  std::erase_if(rows_, [this](std::uint32_t row) { return is_left_out(data_->train, row); });
}

bool Share::is_left_out(const Dataset& set, std::uint32_t row) const {
  return !left_out_.empty() && left_out_[static_cast<std::size_t>(set.labels[row])];
}

Selection Share::evaluation(std::size_t limit) {
  const bool own = data_->test.rows == 0;
  const Dataset& set = own ? data_->train : data_->test;
  const bool some = own && !rows_.empty();
  if (!some && !left_out_.empty()) {
    candidates_.clear();
    for (std::uint32_t row = 0; row < set.rows; ++row)
      if (!is_left_out(set, row)) candidates_.push_back(row);
  }
  const bool listed = some || !left_out_.empty();
  const Rows& list = some ? rows_ : candidates_;
  const std::size_t count = listed ? list.size() : set.rows;
  const std::size_t wanted = limit == 0 ? count : std::min(limit, count);
  selected_.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t place = i * count / wanted;
    selected_[i] = listed ? list[place] : static_cast<std::uint32_t>(place);
  }
  const std::size_t all = some ? count : set.rows;
  return {.set = &set,
          .rows = selected_,
          .usable = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 1,
          .available = count};
}

}  // namespace starling::models
