#include "optim/buffer_pool.h"

#include <new>

namespace starling::optim {

void BufferPool::Freed::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, std::align_val_t(kAlignment));
}

std::shared_ptr<std::byte> BufferPool::take(std::size_t bytes) {
  Block block;
  {
    const std::lock_guard lock(shelf_->mutex);
    if (shelf_->bytes != bytes) shelf_->blocks.clear();
    shelf_->bytes = bytes;
    if (!shelf_->blocks.empty()) {
      block = std::move(shelf_->blocks.back());
      shelf_->blocks.pop_back();
    }
  }
  if (!block)
    block.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(kAlignment))));
  return {block.release(), [shelf = shelf_, bytes](std::byte* freed) {
            Block returned(freed);
            const std::lock_guard lock(shelf->mutex);
            if (shelf->bytes == bytes && shelf->blocks.size() < kShelfLimit)
              shelf->blocks.push_back(std::move(returned));
          }};
}

}  // namespace starling::optim
