// BufferPool: large buffers that are used again, because fresh pages cost more than the copy. A
// buffer returns to its pool when its last Payload is destroyed, on any thread. What a node needs
// of vectors at different times, such as a gradient and a neighbour's vector, takes turns in them.
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

  // A writable buffer of `bytes`, aligned for vector loads, contents unspecified. One twice as
  // large may be given.
  std::shared_ptr<std::byte> take(std::size_t bytes);
  // The same for one owner.
  struct Return;
  using Block = std::unique_ptr<std::byte, Return>;
  Block lend(std::size_t bytes);

  static Payload seal(std::shared_ptr<std::byte> buffer, std::size_t bytes) {
    const std::span<const std::byte> view(buffer.get(), bytes);
    return Payload(std::move(buffer), view);
  }

  // The buffer of a payload that lies in one of a pool and that nothing else holds, to be written
  // to; else null. Overwriting it changes the payload.
  static std::shared_ptr<std::byte> reopen(const Payload& payload);

 private:
  struct Freed {
    void operator()(std::byte* bytes) const;
  };
  // Blocks that wait to be used again, all of one size.
  struct Shelf {
    std::mutex mutex;
    std::size_t bytes = 0;
    std::vector<std::unique_ptr<std::byte, Freed>> blocks;
    std::size_t takings = 0, idle = 0;  // idle: the fewest that waited, since the last look
  };
  static constexpr std::size_t kShelfLimit = 8;
  // Takings between two looks for blocks that were not needed, which go back to the system. Larger:
  // a peak holds memory for longer. Smaller: more fresh pages.
  static constexpr std::size_t kLookEvery = 32;

  std::shared_ptr<Shelf> shelf_;
};

// Brings a block back to its shelf.
struct BufferPool::Return {
  std::shared_ptr<Shelf> shelf;
  std::size_t bytes = 0;

  void operator()(std::byte* freed) const;
};

// Numbers in a buffer of a pool, unspecified at first.
template <class S>
class Scratch {
 public:
  Scratch(BufferPool& pool, std::size_t size) : bytes_(pool.lend(size * sizeof(S))), size_(size) {}

  std::span<S> numbers() const { return {reinterpret_cast<S*>(bytes_.get()), size_}; }

 private:
  BufferPool::Block bytes_;
  std::size_t size_;
};

}  // namespace starling::optim
