// TrainerState: the state that a trainer needs when it comes back, such as the moments of its
// optimizer: bytes that only trainers read, in a sealed memory file.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/payload.h"
#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

class TrainerState {
 public:
  // Takes a file from a trainer. An error if it is larger than the limit, or not sealed against
  // growing, shrinking and writing.
  static Result<std::shared_ptr<const TrainerState>> receive(OpenFile file, std::size_t limit);
  // A file of these bytes, which came from another node.
  static Result<std::shared_ptr<const TrainerState>> copy_of(const Payload& bytes);
  ~TrainerState();
  TrainerState(const TrainerState&) = delete;
  TrainerState& operator=(const TrainerState&) = delete;

  int descriptor() const { return file_.number(); }
  std::size_t size() const { return size_; }
  // The bytes, not copied; they keep the state alive.
  static Payload bytes_of(std::shared_ptr<const TrainerState> state);

 private:
  TrainerState(OpenFile file, std::byte* data, std::size_t size)
      : file_(std::move(file)), data_(data), size_(size) {}
  static Result<std::shared_ptr<const TrainerState>> map(OpenFile file, std::size_t size);

  OpenFile file_;
  std::byte* data_;  // mapped; null without bytes
  std::size_t size_;
};

}  // namespace starling::daemon
