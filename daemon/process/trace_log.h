// TraceLog: recent spans of this node's threads, and of the vectors on their way to it. It holds
// the newest kSpansLimit. Every member function may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"

namespace starling::daemon {

struct TraceSpan {
  enum class Kind { mix, evaluate, compute, encode, send, wait, receive };
  Kind kind;
  Time from{}, to{};  // since the process started
  std::uint64_t round = 0;
  // Name of the sender (receive), of the sender of the last vector (wait), of the receiver (send).
  std::string neighbor = {};
  std::size_t bytes = 0;  // of send and receive
};
std::string_view name(TraceSpan::Kind kind);

class TraceLog {
 public:
  // Larger: a trace reaches further back, and its document is longer (about 150 bytes a span).
  static constexpr std::size_t kSpansLimit = 16'384;

  void add(TraceSpan span);
  // The parts of a job that took any time.
  void add(const optim::Done& done);
  void add(const gossip::Span& span);
  // In the order in which they began.
  std::vector<TraceSpan> spans() const;

 private:
  void put(TraceSpan span);

  mutable std::mutex mutex_;
  std::deque<TraceSpan> spans_;
};

}  // namespace starling::daemon
