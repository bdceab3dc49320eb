#include "models/share.h"

#include "base/check.h"

namespace starling::models {

Assignment Share::assign(const optim::Shard& shard) {
  Assignment assignment = assign_rows(data_->train, options_, shard);
  rows_ = assignment.parts[assignment.own];
  description_ = assignment.description;
  return assignment;
}

Selection Share::batch(std::span<const std::uint32_t> batch) {
  if (batch.empty()) return {.set = &data_->train, .rows = rows_};
  selected_.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ENSURE(batch[i] < rows_.size(), "a batch names samples that the node holds");
    selected_[i] = rows_[batch[i]];
  }
  return {.set = &data_->train, .rows = selected_};
}

Selection Share::evaluation(std::size_t limit) {
  const bool own = data_->test.rows == 0;
  const Dataset& set = own ? data_->train : data_->test;
  const bool some = own && !rows_.empty();
  const std::size_t count = some ? rows_.size() : set.rows;
  const std::size_t wanted = limit == 0 ? count : std::min(limit, count);
  selected_.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t place = i * count / wanted;
    selected_[i] = some ? rows_[place] : static_cast<std::uint32_t>(place);
  }
  return {.set = &set, .rows = selected_};
}

}  // namespace starling::models
