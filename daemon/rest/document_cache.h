// DocumentCache: the texts of documents of one snapshot, each made once. Serialising a status takes
// longer than all else that a request costs, while many requests fall on one snapshot.
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

  // The text of the document `name` of `snapshot`: what `make` gives the first time, the same bytes
  // afterwards. Another snapshot drops the texts of the one before.
  // REQUIRES a name that is one of few, and a snapshot.
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
