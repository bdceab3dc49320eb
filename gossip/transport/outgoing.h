// Outgoing: the queue of messages of one plane to one peer. If it is full, a control message is
// dropped, since gossip repeats it, and a vector replaces the last message, which has not begun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "gossip/wire/connection_rules.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

class Outgoing {
 public:
  explicit Outgoing(Plane plane) : plane_(plane) {}

  // Returns how many messages were dropped: the last of a full queue, or this one.
  std::size_t push(Frames frames) {
    const bool is_full = queue_.size() >= waiting_limit(plane_);
    if (is_full && (plane_ == Plane::control || !frames.has_payload()))
      return 1;                      // is repeated; must not displace a vector
    if (is_full) queue_.pop_back();  // the front, which may have begun, stays
    queue_.push_back({std::move(frames), {}, false, false});
    return is_full ? 1 : 0;
  }
  bool empty() const { return queue_.empty(); }
  // Passes each frame of the front message to `send`(frame, sent_header) until that returns false.
  // Returns whether the message was sent whole. REQUIRES !empty().
  template <class Send>
  bool send_front(Send send) {
    Item& front = queue_.front();
    while (front.frame || !front.frames.done()) {
      if (!front.frame) front.frame = front.frames.next();
      const bool is_sent = send(*front.frame, front.sent_header);
      front.begun |= is_sent || front.sent_header;
      if (!is_sent) return false;
      front.frame.reset();
    }
    queue_.pop_front();
    return true;
  }
  // Returns how many messages were dropped.
  std::size_t clear() {
    const std::size_t dropped = queue_.size();
    queue_.clear();
    return dropped;
  }
  // Whether the next frame belongs to a message that has begun.
  bool is_within() const { return !queue_.empty() && queue_.front().begun; }
  // After the connection broke: drops the front message if it has begun; the other end requests
  // what it lacks. Returns how many messages were dropped.
  std::size_t give_up_begun() {
    if (!is_within()) return 0;
    queue_.pop_front();
    return 1;
  }

 private:
  struct Item {
    Frames frames;
    std::optional<Frame> frame;  // made, and not yet sent whole
    bool sent_header = false;
    bool begun = false;
  };

  Plane plane_;
  std::deque<Item> queue_;
};

}  // namespace starling::gossip
