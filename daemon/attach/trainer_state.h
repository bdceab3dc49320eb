// TrainerState: what a trainer wants to find again when it comes back, such as the moments of its
// optimizer: bytes that only trainers read, in a memory file that nobody can change any more.
#pragma once

#include <cstddef>
#include <memory>

#include "base/payload.h"
#include "base/result.h"

namespace starling::daemon {

class TrainerState {
 public:
  // The file that a trainer has sent. Takes the descriptor over, whatever comes of it. An error
  // where the file is larger than the limit, or not sealed against growing, shrinking and writing.
  static Result<std::shared_ptr<const TrainerState>> receive(int descriptor, std::size_t limit);
  // A file of these bytes, which came from another node.
  static Result<std::shared_ptr<const TrainerState>> copy_of(const Payload& bytes);
  ~TrainerState();
  TrainerState(const TrainerState&) = delete;
  TrainerState& operator=(const TrainerState&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t size() const { return size_; }
  // The bytes, not copied; they keep the state alive.
  static Payload bytes_of(std::shared_ptr<const TrainerState> state);

 private:
  TrainerState(int descriptor, std::byte* data, std::size_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}
  static Result<std::shared_ptr<const TrainerState>> map(int descriptor, std::size_t size);

  int descriptor_;
  std::byte* data_;  // mapped; null where there are no bytes
  std::size_t size_;
};

}  // namespace starling::daemon
