// ByteReader: reads the bytes of a payload front to back, across its pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/payload.h"

namespace starling::optim {

class ByteReader {
 public:
  // The payload must outlive the reader.
  explicit ByteReader(const Payload& payload) : payload_(&payload) {}

  // The bytes left of the current piece. REQUIRES that some are left.
  std::span<const std::byte> rest() {
    const auto& pieces = payload_->pieces();
    while (piece_ < pieces.size() && offset_ == pieces[piece_].bytes.size()) ++piece_, offset_ = 0;
    ENSURE(piece_ < pieces.size(), "a payload is not read past its end");
    return pieces[piece_].bytes.subspan(offset_);
  }
  // Skips the next bytes. REQUIRES that they exist.
  void pass(std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t step = std::min(bytes, rest().size());
      offset_ += step;
      bytes -= step;
    }
  }
  // The next scratch.size() bytes, in place or copied into `scratch`. REQUIRES that they exist.
  const std::byte* next(std::span<std::byte> scratch) {
    const std::span<const std::byte> here = rest();
    if (here.size() >= scratch.size()) {
      offset_ += scratch.size();
      return here.data();
    }
    for (std::size_t filled = 0; filled < scratch.size();) {
      const std::span<const std::byte> part = rest();
      const std::size_t step = std::min(part.size(), scratch.size() - filled);
      std::memcpy(scratch.data() + filled, part.data(), step);
      offset_ += step;
      filled += step;
    }
    return scratch.data();
  }

 private:
  const Payload* payload_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;  // bytes read of the piece
};

}  // namespace starling::optim
