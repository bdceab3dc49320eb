// CheckpointFolder: generations of files on a disk. A generation is complete or absent: it is
// written in another folder, synced and renamed. Its manifest is a line of JSON that names its
// files with their sizes and checksums (XXH3, 64 bit), and a line with the checksum of the first.
//   DIR/000000000042/manifest.json and the files that it names
//   DIR/.new/                      one that is being written, or was when the process ended
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/result.h"

namespace starling::daemon {

struct Generation {
  // Properties as text by name: round, foundation, settings.
  std::map<std::string, std::string> about;
  std::map<std::string, Payload> files;  // by name: letters, digits, '.', '_' and '-'
};

class CheckpointFolder {
 public:
  static constexpr std::size_t kFilesLimit = 64;
  static constexpr std::size_t kManifestBytesLimit = std::size_t{1} << 20;

  // Creates the folder if missing, and removes an unfinished generation. One process at a time uses
  // a folder. The error names it.
  static Result<CheckpointFolder> open(const std::string& path);

  // Writes the next generation, which is on the disk when this returns, and removes all but the
  // last `keep`. The error says what could not be written; the other generations then stay as they
  // were, except that on a full disk the oldest are removed to make room, down to one whole
  // generation. Creates the folder again if it was removed. Blocks on the disk.
  Result<void> save(const Generation& content, std::size_t keep);
  // A warning if `keep` generations of `bytes` bytes and one that is being written do not fit on
  // the disk beside other files; else empty.
  std::string doubt(std::uint64_t bytes, std::size_t keep) const;
  // Whether there is any generation, usable or not.
  bool is_empty() const { return generations().empty(); }

  const std::string& path() const { return path_; }
  // The size of the last saved generation on the disk.
  std::uint64_t bytes() const { return bytes_; }
  // Why a complete generation is unusable; empty: it is usable.
  using Objection = std::function<std::string(const Generation&)>;
  // The newest complete and usable generation; nothing if there is none: all are then renamed to
  // NUMBER.damaged, so that later saves do not remove them.
  std::optional<Generation> load(const Objection& objection = {});
  // What was wrong with the generations that load() skipped, a line each.
  const std::vector<std::string>& damages() const { return damages_; }
  // The number of the last generation that was saved or loaded; 0: none.
  std::uint64_t generation() const { return generation_; }

 private:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  Result<void> write(const std::string& folder, const Generation& content) const;
  Result<void> write_next(const Generation& content);
  bool give_up_oldest() const;
  Result<Generation> read(const std::string& folder) const;
  std::string folder_of(std::uint64_t generation) const;
  std::vector<std::uint64_t> generations() const;  // ascending
  void remove_old(std::size_t keep) const;

  std::string path_;
  std::uint64_t generation_ = 0, newest_ = 0, bytes_ = 0;
  std::vector<std::string> damages_;
};

}  // namespace starling::daemon
