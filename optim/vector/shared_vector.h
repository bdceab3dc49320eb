// SharedVector: a vector whose numbers can be sent without a copy. Shared bytes do not change: the
// next edit or replacement happens in another buffer of the pool, and the old one lives until the
// last neighbour has it. One thread at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/payload.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class SharedVector {
 public:
  // The pool reuses buffers only if it serves vectors of one size.
  SharedVector(std::span<const S> values, std::shared_ptr<BufferPool> pool)
      : pool_(std::move(pool)), size_(values.size()), bytes_(fresh()) {
    std::ranges::copy(values, numbers(bytes_));
  }

  std::size_t size() const { return size_; }
  std::span<const S> values() const { return {numbers(bytes_), size_}; }
  operator std::span<const S>() const { return values(); }

  // The numbers, to be changed. Copies them first when they are shared.
  std::span<S> edit() {
    if (is_shared_) {
      auto copy = fresh();
      std::copy_n(numbers(bytes_), size_, numbers(copy));
      keep(std::move(copy));
    }
    return {numbers(bytes_), size_};
  }
  // Changes them all: `write` gets the old numbers and where the new ones go, which do not overlap,
  // and says whether to keep the new ones. `room`: of a buffer of the pool, where they go; null:
  // anywhere.
  template <class Write>
  bool replace(Write write, std::shared_ptr<std::byte> room = nullptr) {
    auto next = room ? std::move(room) : fresh();
    const bool is_kept = write(values(), std::span<S>(numbers(next), size_));
    if (is_kept) keep(std::move(next));
    return is_kept;
  }

  // The bytes, immutable from now on.
  Payload share() {
    is_shared_ = true;
    return BufferPool::seal(bytes_, size_ * sizeof(S));
  }
  // Whether the payload is what share() gave and the numbers are still those.
  bool is_shown_by(const Payload& payload) const {
    return payload.pieces().size() == 1 && payload.size() == size_ * sizeof(S) &&
           payload.pieces().front().bytes.data() == bytes_.get();
  }

 private:
  std::shared_ptr<std::byte> fresh() { return pool_->take(size_ * sizeof(S)); }
  static S* numbers(const std::shared_ptr<std::byte>& bytes) {
    return reinterpret_cast<S*>(bytes.get());
  }
  void keep(std::shared_ptr<std::byte> bytes) {
    bytes_ = std::move(bytes);
    is_shared_ = false;
  }

  std::shared_ptr<BufferPool> pool_;
  std::size_t size_;
  std::shared_ptr<std::byte> bytes_;
  bool is_shared_ = false;
};

}  // namespace starling::optim
