#include "gossip/edges/send_window.h"

#include <utility>

namespace starling::gossip {

void EdgeVector::write(Round& message) const {
  message.round = round;
  message.share = share;
  message.span = span;
  message.probe = probe;
  message.damping = damping;
  message.reach = reach;
}

std::uint64_t SendWindow::offer(EdgeVector vector) {
  kept_[++last_].vector = std::move(vector);
  return last_;
}

bool SendWindow::acknowledge(std::uint64_t index, std::uint64_t beyond) {
  index = std::min(index, last_);
  for (auto& [number, own] : kept_) {
    const bool is_beyond =
        number > index && number - index <= 64 && (beyond >> (number - index - 1) & 1) != 0;
    if (number > index && !is_beyond) continue;
    own.has_come = true;
    seen(own.order);
  }
  if (index <= acknowledged_) return false;
  acknowledged_ = index;
  return true;
}

std::vector<std::uint64_t> SendWindow::lost() const {
  std::vector<std::uint64_t> lost;
  for (const auto& [number, own] : kept_)
    if (!own.has_come && own.order > 0 && own.order < seen_) lost.push_back(number);
  return lost;
}

std::uint64_t SendWindow::newest_unconfirmed() const {
  std::uint64_t newest = 0;
  for (const auto& [number, own] : kept_)
    if (!own.has_come) newest = std::max(newest, own.order);
  return newest;
}

std::uint64_t SendWindow::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [number, own] : kept_) bytes += own.has_come ? 0 : own.vector.payload.size();
  return bytes;
}

void SendWindow::forget_done(std::uint64_t last_pair) {
  std::erase_if(kept_, [&](const auto& item) {
    return item.first > last_pair || (item.second.is_mixed && item.first <= acknowledged_);
  });
}

}  // namespace starling::gossip
