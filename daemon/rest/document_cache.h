// DocumentCache: the texts of documents of one snapshot, each made once. Serialising a status takes
// most of a request's time, and many requests share one snapshot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/process/board.h"

namespace starling::daemon {

// One thread at a time.
class DocumentCache {
 public:
  using Text = std::shared_ptr<const std::string>;

  // The text of the document `name` of `snapshot`, made by `make` the first time. Another snapshot
  // drops the texts of the previous one. REQUIRES one of a few names, and a snapshot.
  template <class Make>
  Text text(const std::shared_ptr<const Snapshot>& snapshot, std::string_view name, Make make) {
    if (snapshot != snapshot_) texts_.clear(), snapshot_ = snapshot;
    const auto found = texts_.find(name);
    if (found != texts_.end()) return found->second;
    return texts_.emplace(name, std::make_shared<const std::string>(make())).first->second;
  }

 private:
  std::shared_ptr<const Snapshot> snapshot_;  // kept, so that its address stays its own
  std::map<std::string, Text, std::less<>> texts_;
};

}  // namespace starling::daemon
