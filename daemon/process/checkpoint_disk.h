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

  // Whether the folder has no checkpoint of any life. REQUIRES that none is being written.
  bool is_empty() const { return folder_.is_empty(); }
  // Announces the least size of a checkpoint: logs a warning if the folder has no room for `keep`
  // of them and one being written. Only the first call counts.
  void expect(std::uint64_t bytes);
  // Writes a checkpoint; checks the room by the size of the first one, too. REQUIRES that
  // take_saved() has answered the previous one.
  void save(gossip::Checkpoint checkpoint);
  // The result of save(), once it is there.
  std::optional<gossip::Saved> take_saved();
  // Readable when take_saved() has something.
  int descriptor() const { return wake_.descriptor(); }

 private:
  CheckpointDisk(CheckpointFolder folder, std::size_t keep)
      : folder_(std::move(folder)), keep_(keep) {}

  void write(const gossip::Checkpoint& checkpoint);
  void measure(std::uint64_t bytes);

  CheckpointFolder folder_;  // used by the worker once save() was called
  std::size_t keep_;
  bool is_expected_ = false;
  bool is_measured_ = false;  // room was checked by the size of a checkpoint; used by the worker
  bool is_doubted_ = false;   // a warning about room was logged; used by the worker
  Wake wake_;
  std::mutex mutex_;
  std::optional<gossip::Saved> saved_;
  Worker worker_;  // last: it uses everything above
};

}  // namespace starling::daemon
