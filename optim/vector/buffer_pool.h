// BufferPool: large buffers that are used again, because fresh pages cost more than the copy. A
// buffer returns to its pool when its last Payload is destroyed, on any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/payload.h"

namespace starling::optim {

class BufferPool {
 public:
  BufferPool() : shelf_(std::make_shared<Shelf>()) {}

  // A writable buffer of `bytes`, aligned for vector loads, contents unspecified.
  std::shared_ptr<std::byte> take(std::size_t bytes);

  static Payload seal(std::shared_ptr<std::byte> buffer, std::size_t bytes) {
    const std::span<const std::byte> view(buffer.get(), bytes);
    return Payload(std::move(buffer), view);
  }

 private:
  struct Freed {
    void operator()(std::byte* bytes) const;
  };
  using Block = std::unique_ptr<std::byte, Freed>;
  // Blocks that wait to be used again, all of one size.
  struct Shelf {
    std::mutex mutex;
    std::size_t bytes = 0;
    std::vector<Block> blocks;
  };
  static constexpr std::size_t kShelfLimit = 8;

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace starling::optim
