#include "gossip/edges/receive_window.h"

#include <algorithm>

namespace starling::gossip {

void ReceiveWindow::receive(std::uint64_t number) {
  newest_ = std::max(newest_, number);
  announced(number);
  beyond_.insert(number);
  while (beyond_.erase(received_ + 1) > 0) ++received_;
}

void ReceiveWindow::announced(std::uint64_t number) {
  if (number <= received_ + kSize) announced_ = std::max(announced_, number);
}

std::uint64_t ReceiveWindow::beyond() const {
  std::uint64_t bits = 0;
  for (const std::uint64_t number : beyond_)
    if (number - received_ <= 64) bits |= std::uint64_t{1} << (number - received_ - 1);
  return bits;
}

}  // namespace starling::gossip
