#include "daemon/process/background_reader.h"

#include <utility>

#include "daemon/process/memory.h"
#include "models/data/load.h"

namespace starling::daemon {

void BackgroundReader::request(std::vector<std::uint32_t> rows) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(rows);
    result_.reset();
  }
  if (!worker_) worker_ = std::make_unique<Worker>();
  // If too many tasks wait, one of these reads the rows.
  worker_->submit([this] { read_next(); });
}

std::optional<Result<models::Dataset>> BackgroundReader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

void BackgroundReader::freed() {
  give_back();
}

void BackgroundReader::read_next() {
  std::unique_lock lock(mutex_);
  const auto rows = std::exchange(next_, std::nullopt);
  if (!rows) return;
  lock.unlock();
  Result<models::Dataset> read = models::reread(options_, train_hash_, *rows);
  give_back();
  lock.lock();
  if (!next_) result_ = std::move(read);
}

std::shared_ptr<models::RowReader> make_reader(const models::DataOptions& options,
                                               const models::Data& data) {
  using enum models::Source;
  if (options.source != idx && options.source != csv && options.source != libsvm) return nullptr;
  return std::make_shared<BackgroundReader>(options, data.train_hash);
}

}  // namespace starling::daemon
