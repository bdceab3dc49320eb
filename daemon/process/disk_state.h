// DiskState: what a node keeps between two lives, in the folder node.data-dir: its incarnation and
// where it met others. Files are small text, closed by a checksum, and replaced whole: written
// beside, synced, renamed. One that is damaged, foreign or missing counts as none.
//   incarnation  "starling incarnation 1", the number, the checksum; one a line
//   name         "starling name 1", the name, the checksum
//   peers        "starling peers 1", a control address a line, the checksum
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

inline constexpr std::size_t kPeersKeptLimit = 256;

class DiskState {
 public:
  // Makes the folder where it is missing, and reads what it holds. The folder belongs to this
  // process as long as the state lives. The error names node.data-dir, the folder and what is
  // wrong.
  static Result<DiskState> open(const std::string& folder);

  // The incarnation of this life: above `clock` and above the one before, unless that is one which
  // no member believes at this time (gossip::latest_incarnation). It is on the disk when
  // this returns. When it cannot be, that is a warning where that of an earlier life is there,
  // which shows that the folder was right, and an error where it is not.
  Result<std::uint64_t> next_incarnation(std::uint64_t clock);

  // The name of the lives before; `name` where they had none, which is kept from now on.
  std::string keep_name(const std::string& name);

  // This life goes on under a later incarnation, which the next one shall exceed.
  Result<void> save_incarnation(std::uint64_t incarnation);

  // Those kept by the life before, or saved since.
  const std::vector<Endpoint>& peers() const { return peers_; }
  // Keeps the first kPeersKeptLimit of them. Does nothing when they are kept already.
  Result<void> save_peers(std::vector<Endpoint> peers);

  // One a file that was damaged or foreign, for the log.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DiskState(std::string folder, OpenFile lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  void read_incarnation();
  void read_peers();
  std::vector<std::string> lines_of(const std::string& name);
  Result<void> replace(const std::string& name, const std::vector<std::string>& lines) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  OpenFile lock_;
  std::uint64_t incarnation_ = 0;
  std::vector<Endpoint> peers_;
  std::vector<std::string> warnings_;
};

}  // namespace starling::daemon
