// CheckpointDisk: writes checkpoints in a thread of its own, so that neither training nor the loop
// waits for a disk.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/process/checkpoint_folder.h"
#include "daemon/process/wake.h"
#include "daemon/process/worker.h"
#include "gossip/checkpoint.h"
#include "gossip/io.h"

namespace starling::daemon {

class CheckpointDisk {
 public:
  // Keeps the last `keep` generations in `path`, a folder of this process alone.
  static Result<std::unique_ptr<CheckpointDisk>> open(const std::string& path, std::size_t keep);

  // The newest readable checkpoint; null if there is none. Logs a warning for each unreadable one.
  // REQUIRES that nothing was saved yet.
  std::shared_ptr<const gossip::Checkpoint> load();

  // Whether nothing is there, of this life or an earlier one. REQUIRES that none is under way.
  bool is_empty() const { return folder_.is_empty(); }
  // REQUIRES that the previous one has been answered.
  void save(gossip::Checkpoint checkpoint);
  // The answer, if there is one.
  std::optional<gossip::Saved> take_saved();
  // Readable when take_saved() has something.
  int descriptor() const { return wake_.descriptor(); }

 private:
  CheckpointDisk(CheckpointFolder folder, std::size_t keep)
      : folder_(std::move(folder)), keep_(keep) {}

  void write(const gossip::Checkpoint& checkpoint);

  CheckpointFolder folder_;  // of the worker's thread once something is saved
  std::size_t keep_;
  bool is_measured_ = false;  // whether the folder has room was looked at
  Wake wake_;
  std::mutex mutex_;
  std::optional<gossip::Saved> saved_;
  Worker worker_;  // last: it uses everything above
};

}  // namespace starling::daemon
