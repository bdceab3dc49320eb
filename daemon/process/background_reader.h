// BackgroundReader: reads rows of a data file again on a thread of its own, which begins with the
// first request.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/process/worker.h"
#include "models/data/data_options.h"
#include "models/data/row_reader.h"

namespace starling::daemon {

// One thread calls request() and take(). The destructor waits for the read under way.
class BackgroundReader final : public models::RowReader {
 public:
  // As models::reread().
  BackgroundReader(models::DataOptions options, std::uint64_t train_hash)
      : options_(std::move(options)), train_hash_(train_hash) {}

  void request(std::vector<std::uint32_t> rows) override;
  std::optional<Result<models::Dataset>> take() override;
  void freed() override;

 private:
  void read_next();

  models::DataOptions options_;
  std::uint64_t train_hash_;
  std::mutex mutex_;
  std::optional<std::vector<std::uint32_t>> next_;
  std::optional<Result<models::Dataset>> result_;
  std::unique_ptr<Worker> worker_;  // last: it uses everything above
};

// A reader for data from a file; null for other data, which cannot be read again.
std::shared_ptr<models::RowReader> make_reader(const models::DataOptions& options,
                                               const models::Data& data);

}  // namespace starling::daemon
