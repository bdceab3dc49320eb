#include "daemon/process/checkpoint_disk.h"

#include <utility>

#include "base/check.h"
#include "daemon/process/checkpoint_files.h"
#include "daemon/process/log.h"

namespace starling::daemon {

Result<std::unique_ptr<CheckpointDisk>> CheckpointDisk::open(const std::string& path,
                                                             std::size_t keep) {
  TRY(CheckpointFolder folder, CheckpointFolder::open(path));
  return std::unique_ptr<CheckpointDisk>(new CheckpointDisk(std::move(folder), keep));
}

std::shared_ptr<const gossip::Checkpoint> CheckpointDisk::load() {
  std::shared_ptr<const gossip::Checkpoint> newest;
  folder_.load([&newest](const Generation& content) {
    auto checkpoint = checkpoint_from(content);
    if (!checkpoint) return checkpoint.error().text;
    newest = std::make_shared<const gossip::Checkpoint>(*std::move(checkpoint));
    return std::string();
  });
  for (const std::string& damage : folder_.damages())
    log::warning("a checkpoint is passed over: {}", damage);
  if (!newest && !folder_.damages().empty())
    log::warning(
        "no checkpoint in {} can be used: begins from nothing; what could not be used is kept as "
        "*.damaged",
        folder_.path());
  if (newest)
    log::info("found the checkpoint of round {}, generation {}", newest->round,
              folder_.generation());
  return newest;
}

void CheckpointDisk::save(gossip::Checkpoint checkpoint) {
  const bool is_taken =
      worker_.submit([this, checkpoint = std::move(checkpoint)] { write(checkpoint); });
  ENSURE(is_taken, "one checkpoint is under way at a time");
}

void CheckpointDisk::expect(std::uint64_t bytes) {
  if (!std::exchange(is_expected_, true)) worker_.submit([this, bytes] { measure(bytes); });
}

void CheckpointDisk::measure(std::uint64_t bytes) {
  const std::string doubt = is_doubted_ ? std::string() : folder_.doubt(bytes, keep_);
  is_doubted_ |= !doubt.empty();
  if (!doubt.empty()) log::warning("{}", doubt);
}

void CheckpointDisk::write(const gossip::Checkpoint& checkpoint) {
  const Generation content = files_of(checkpoint);
  if (!std::exchange(is_measured_, true)) {
    std::uint64_t bytes = 0;
    for (const auto& [name, file] : content.files) bytes += file.size();
    measure(bytes);
  }
  const auto written = folder_.save(content, keep_);
  gossip::Saved saved;
  if (written)
    saved = {.generation = folder_.generation(), .bytes = folder_.bytes()};
  else
    saved.problem = written.error().text;
  const std::lock_guard lock(mutex_);
  saved_ = std::move(saved);
  wake_.signal();
}

std::optional<gossip::Saved> CheckpointDisk::take_saved() {
  const std::lock_guard lock(mutex_);
  wake_.clear();
  return std::exchange(saved_, std::nullopt);
}

}  // namespace starling::daemon
