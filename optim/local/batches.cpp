#include "optim/local/batches.h"

#include <numeric>

namespace starling::optim {

std::span<const std::uint32_t> Batches::next(std::size_t samples) {
  if (size_ == 0 || size_ >= samples) return {};
  if (order_.size() != samples || position_ > samples) {
    order_.resize(samples);
    std::iota(order_.begin(), order_.end(), 0U);
    position_ = samples;
  }
  if (position_ + size_ > samples) {
    prng_.shuffle(std::span(order_));
    position_ = 0;
  }
  position_ += size_;
  return std::span<const std::uint32_t>(order_).subspan(position_ - size_, size_);
}

}  // namespace starling::optim
