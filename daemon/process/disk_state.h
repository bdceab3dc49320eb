// DiskState: what a node keeps from one life to the next, in the folder node.data-dir: its
// incarnation, name, mark and peers. Files are small texts that end with a checksum, and are
// replaced atomically: written as another file, synced, renamed. A damaged, foreign or missing file
// counts as empty.
//   incarnation  "starling incarnation 1", the number, the checksum; one a line
//   name         "starling name 1", the name, the checksum
//   mark         "starling mark 1", the mark of a node that cannot be dialled, the checksum
//   peers        "starling peers 1", a control address a line, the checksum
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

inline constexpr std::size_t kPeersKeptLimit = 256;

class DiskState {
 public:
  // Creates the folder if missing, and reads its files. The folder is locked as long as the state
  // lives. The error names node.data-dir, the folder and what is wrong; another node there is
  // kExitFailed.
  static Outcome<DiskState> open(const std::string& folder);

  // The incarnation of this life: above `clock` and above the one before, unless no member would
  // accept that at this time (gossip::latest_incarnation). It is on the disk when this returns. If
  // it cannot be written, that is a warning if an earlier life's is there, which shows that the
  // folder is the right one, and otherwise an error.
  Result<std::uint64_t> next_incarnation(std::uint64_t clock);

  // The name of earlier lives; without one `name`, which is kept from now on.
  std::string keep_name(const std::string& name) { return keep("name", name); }
  // As keep_name(), for the mark that stands for the address of a node that cannot be dialled.
  std::string keep_mark(const std::string& mark) { return keep("mark", mark); }

  // Saves a later incarnation of this life, which the next life must exceed.
  Result<void> save_incarnation(std::uint64_t incarnation);

  // The peers of the previous life, or those saved since.
  const std::vector<Endpoint>& peers() const { return peers_; }
  // Saves the first kPeersKeptLimit of them. Does nothing if they are unchanged.
  Result<void> save_peers(std::vector<Endpoint> peers);

  // A text for each damaged or foreign file, for the log.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DiskState(std::string folder, OpenFile lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::string keep(const std::string& file, const std::string& text);
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
