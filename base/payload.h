// Payload: immutable bytes that travel by handle. It is a rope of pieces, so that a vector which
// arrived as chunks is read where it lies and never copied together. Pieces may be misaligned.
// Copying a Payload copies references only; the bytes are freed with the last one, on any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace starling {

class Payload {
 public:
  struct Piece {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
  };

  Payload() = default;
  explicit Payload(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
    for (const Piece& piece : pieces_) size_ += piece.bytes.size();
  }
  // One piece that keeps `owner` alive.
  Payload(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : pieces_{Piece{std::move(owner), bytes}}, size_(bytes.size()) {}

  Payload(const Payload&) = default;
  Payload& operator=(const Payload&) = default;
  // A moved-from payload is empty.
  Payload(Payload&& other) noexcept
      : pieces_(std::exchange(other.pieces_, {})), size_(std::exchange(other.size_, 0)) {}
  Payload& operator=(Payload&& other) noexcept {
    pieces_ = std::exchange(other.pieces_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  static Payload copy_of(std::span<const std::byte> bytes) {
    auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::span<const std::byte> view(*owner);
    return Payload(std::move(owner), view);
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The bytes [offset, offset + length) as a payload that shares them. REQUIRES they exist.
  Payload slice(std::size_t offset, std::size_t length) const;
  // Copies [offset, offset + out.size()) into `out`. REQUIRES they exist.
  void copy_to(std::size_t offset, std::span<std::byte> out) const;

 private:
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

// Gives a writable buffer of so many bytes, contents unspecified.
using TakeBuffer = std::function<std::shared_ptr<std::byte>(std::size_t)>;

}  // namespace starling
