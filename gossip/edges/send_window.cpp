#include "gossip/edges/send_window.h"

#include <utility>

namespace starling::gossip {

std::uint64_t SendWindow::offer(EdgeVector vector) {
  kept_[++last_].vector = std::move(vector);
  return last_;
}

bool SendWindow::acknowledge(std::uint64_t up_to, std::uint64_t beyond) {
  up_to = std::min(up_to, last_);
  for (auto& [number, own] : kept_) {
    const bool is_beyond =
        number > up_to && number - up_to <= 64 && (beyond >> (number - up_to - 1) & 1) != 0;
    if (number > up_to && !is_beyond) continue;
    own.has_come = true;
    seen(own.order);
  }
  if (up_to <= acknowledged_) return false;
  acknowledged_ = up_to;
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
