#include "optim/vector/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace starling::optim {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = 2 << 20;

// Large buffers lie on huge pages where the system has them: walking the page tables costs a tenth
// of a pass over memory.
std::byte* allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, std::max(rounded, alignment));
  if (!block) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) ::madvise(block, rounded, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(block);
}

}  // namespace

void BufferPool::Freed::operator()(std::byte* bytes) const {
  std::free(bytes);
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
  if (!block) block.reset(allocate(bytes));
  return {block.release(), [shelf = shelf_, bytes](std::byte* freed) {
            Block returned(freed);
            const std::lock_guard lock(shelf->mutex);
            if (shelf->bytes == bytes && shelf->blocks.size() < kShelfLimit)
              shelf->blocks.push_back(std::move(returned));
          }};
}

}  // namespace starling::optim
