// Input: the bytes of a fuzzer as choices. Past their end every number is 0, so that each input is
// valid and a shorter one does less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/payload.h"
#include "tests/fuzz/target.h"

namespace starling::fuzz {

class Input {
 public:
  explicit Input(Bytes bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::size_t size() const { return left_.size(); }
  // At most so many bytes, in place.
  Bytes take(std::size_t count) {
    const Bytes taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  Bytes rest() { return take(left_.size()); }
  std::string_view text(std::size_t count) { return text_of(take(count)); }
  // Up to the mark, which is taken too, or the end.
  std::string_view until(char mark) {
    const std::string_view all = text_of(left_);
    const std::size_t end = std::min(all.find(mark), all.size());
    const std::string_view found = text(end);
    take(1);
    return found;
  }
  // Little-endian; of `bytes` bytes.
  std::uint64_t number(std::size_t bytes = 8) {
    std::uint64_t value = 0;
    const Bytes taken = take(bytes);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::size_t byte() { return number(1); }
  bool flag() { return byte() % 2 == 1; }
  // REQUIRES bound from 1 to 65,536.
  std::size_t below(std::size_t bound) { return number(bound > 256 ? 2 : 1) % bound; }

 private:
  Bytes left_;
};

// The same bytes in pieces of `piece` bytes each, in memory of their own, so that a sanitizer sees
// what is read past an end. 0: one piece.
inline Payload in_pieces(Bytes bytes, std::size_t piece) {
  std::vector<Payload::Piece> pieces;
  while (!bytes.empty()) {
    const Bytes here = bytes.first(piece == 0 ? bytes.size() : std::min(piece, bytes.size()));
    pieces.push_back(Payload::copy_of(here).pieces().front());
    bytes = bytes.subspan(here.size());
  }
  return Payload(std::move(pieces));
}

inline std::string all_bytes(const Payload& payload) {
  std::string bytes(payload.size(), '\0');
  payload.copy_to(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace starling::fuzz
