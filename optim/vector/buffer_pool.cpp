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

void BufferPool::Return::operator()(std::byte* freed) const {
  std::unique_ptr<std::byte, Freed> returned(freed);
  const std::lock_guard lock(shelf->mutex);
  if (shelf->bytes == bytes && shelf->blocks.size() < kShelfLimit)
    shelf->blocks.push_back(std::move(returned));
}

std::shared_ptr<std::byte> BufferPool::take(std::size_t bytes) {
  return lend(bytes);
}

BufferPool::Block BufferPool::lend(std::size_t bytes) {
  std::unique_ptr<std::byte, Freed> block;
  {
    const std::lock_guard lock(shelf_->mutex);
    auto& blocks = shelf_->blocks;
    if (bytes > shelf_->bytes || bytes < shelf_->bytes / 2) {
      blocks.clear();
      shelf_->bytes = bytes;
    }
    bytes = shelf_->bytes;
    if (!blocks.empty()) {
      block = std::move(blocks.back());
      blocks.pop_back();
    }
    shelf_->idle = std::min(shelf_->idle, blocks.size());
    if (++shelf_->takings % kLookEvery == 0) {
      blocks.resize(blocks.size() - shelf_->idle);
      shelf_->idle = blocks.size();
    }
  }
  if (!block) block.reset(allocate(bytes));
  return {block.release(), Return{shelf_, bytes}};
}

std::shared_ptr<std::byte> BufferPool::reopen(const Payload& payload) {
  if (payload.pieces().size() != 1) return nullptr;
  const auto& [owner, bytes] = payload.pieces().front();
  if (owner.use_count() != 1 || !std::get_deleter<Return>(owner) || bytes.data() != owner.get())
    return nullptr;
  // The count that falls here once more orders what other threads read before they let go of the
  // payload.
  std::shared_ptr<const void>(owner).reset();
  // A new owner, because payloads are known by owner and address, and this one's bytes will change.
  auto* const place =
      std::static_pointer_cast<std::byte>(std::const_pointer_cast<void>(owner)).get();
  return {place, [owner = owner](std::byte*) {}};
}

}  // namespace starling::optim
