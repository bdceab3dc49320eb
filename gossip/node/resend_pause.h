// ResendPause: a payload goes to a peer again only after the time that a slow link needs for it.
#pragma once

#include <cstddef>
#include <map>

#include "base/ids.h"
#include "base/time.h"

namespace starling::gossip {

class ResendPause {
 public:
  // `least`: the pause for a payload of no bytes.
  explicit ResendPause(Duration least) : least_(least) {}

  // Whether so many bytes may go to that peer now; then they count as sent.
  bool may_send(Time now, NodeId to, std::size_t bytes) {
    const auto [item, is_first] = sent_.try_emplace(to, now);
    const Duration pause = least_ + from_seconds(static_cast<double>(bytes) / kSlowestRate);
    if (!is_first && now < item->second + pause) return false;
    item->second = now;
    return true;
  }
  void clear() { sent_.clear(); }

 private:
  // Bytes per second. Larger: on thin links a payload is sent twice. Smaller: a lost one comes
  // later.
  static constexpr double kSlowestRate = 500e3;

  Duration least_;
  std::map<NodeId, Time> sent_;
};

}  // namespace starling::gossip
