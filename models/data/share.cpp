#include "models/data/share.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "models/data/row_reader.h"
#include "models/data/subset.h"

namespace starling::models {

namespace {

Rows first_rows(std::size_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

// The places in `rows` of those that are in `some`. REQUIRES that all are.
Rows places(const Rows& rows, const Rows& some) {
  Rows result;
  result.reserve(some.size());
  auto at = rows.begin();
  for (const std::uint32_t row : some) {
    at = std::lower_bound(at, rows.end(), row);
    result.push_back(static_cast<std::uint32_t>(at - rows.begin()));
  }
  return result;
}

// The labels and targets only for a partition that looks at them.
Dataset without_features(const Dataset& set, Partition::Kind kind) {
  Dataset all;
  all.rows = set.rows;
  all.classes = set.classes;
  if (kind == Partition::Kind::by_label || kind == Partition::Kind::dirichlet) {
    all.labels = set.labels;
    all.targets = set.targets;
  }
  return all;
}

}  // namespace

Share::Share(std::shared_ptr<const Data> data, DataOptions options)
    : data_(std::move(data)), options_(std::move(options)) {
  if (data_->reader) all_ = without_features(data_->train, options_.partition.kind);
}

Assignment Share::deal(const optim::Shard& shard) const {
  return assign_rows(data_->reader ? all_ : data_->train, options_, shard);
}

Rows Share::needed(const Assignment& assignment) const {
  const Rows& own = assignment.parts[assignment.own];
  // Without rows of its own a node evaluates on all, unless some are held out.
  return own.empty() && data_->test.rows == 0 ? first_rows(all_.rows) : own;
}

Assignment Share::assign(const optim::Shard& shard) {
  Assignment assignment = deal(shard);
  read_.reset();
  if (own_) {
    const Rows before = needed(deal(*kept_)), after = needed(assignment);
    if (!std::ranges::includes(before, after)) {
      read_ = shard;
      data_->reader->request(after);
      return assignment;
    }
    keep(subset(*own_, places(before, after)));
  }
  kept_ = shard;
  is_new_ = true;
  choose(assignment);
  return assignment;
}

bool Share::refresh() {
  if (!data_->reader) return false;
  if (!own_ && std::exchange(is_new_, false)) {
    const Assignment assignment = deal(*kept_);
    const Rows rows = needed(assignment);
    if (rows.size() == all_.rows) return false;
    keep(subset(data_->train, rows));
    choose(assignment);
    return false;
  }
  if (!read_) return false;
  std::optional<Result<Dataset>> rows = data_->reader->take();
  if (!rows) return false;
  const optim::Shard shard = *std::exchange(read_, std::nullopt);
  if (*rows && !are_alike(**rows, *own_))
    rows = fail("{}: has other columns or classes than before", options_.path);
  if (!*rows) {
    notes_ = {fmt::format("goes on with the samples that it has, for it cannot read others: {}",
                          rows->error().text)};
    return true;
  }
  notes_.clear();
  keep(**std::move(rows));
  kept_ = shard;
  choose(deal(shard));
  return true;
}

void Share::keep(Dataset rows) {
  const bool is_first = !own_;
  own_ = std::move(rows);
  if (is_first)
    data_ = std::make_shared<const Data>(Data{.train = {},
                                              .test = data_->test,
                                              .description = data_->description,
                                              .notes = data_->notes,
                                              .train_hash = data_->train_hash,
                                              .reader = data_->reader});
  data_->reader->freed();
}

void Share::choose(const Assignment& assignment) {
  const Rows& own = assignment.parts[assignment.own];
  rows_ = own_ ? first_rows(own.size()) : own;
  description_ = assignment.description;
  with_held_out_.reset();
  if (kept_->has_held_out) {
    const Assignment more = assign_rows(data_->test, options_, *kept_);
    const Rows& held_out = more.parts[more.own];
    with_held_out_ = joined(subset(dealt(), rows_), subset(data_->test, held_out));
    rows_ = first_rows(with_held_out_->rows);
    description_ += fmt::format(", and {} held-out ones", with_commas(held_out.size()));
  }
  std::erase_if(rows_, [this](std::uint32_t row) { return is_left_out(train(), row); });
}

Selection Share::batch(std::span<const std::uint32_t> batch) {
  if (batch.empty()) return {.set = &train(), .rows = rows_, .usable = 1};
  selected_.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ENSURE(batch[i] < rows_.size(), "a batch names samples that the node holds");
    selected_[i] = rows_[batch[i]];
  }
  return {.set = &train(), .rows = selected_, .usable = 1};
}

void Share::leave_out(std::vector<bool> classes) {
  left_out_ = std::move(classes);
  std::erase_if(rows_, [this](std::uint32_t row) { return is_left_out(train(), row); });
}

bool Share::is_left_out(const Dataset& set, std::uint32_t row) const {
  return !left_out_.empty() && left_out_[static_cast<std::size_t>(set.labels[row])];
}

Selection Share::evaluation(std::size_t limit) {
  const bool own = data_->test.rows == 0;
  const Dataset& set = own ? train() : data_->test;
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
