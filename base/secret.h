// Secret: bytes of a secret key. They are locked in memory, are left out of core dumps, have guard
// pages on both sides, and are overwritten before their memory is freed (libsodium's
// sodium_malloc). Without the right to lock memory they may be swapped out. No function prints one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace starling {

// Owns its bytes. Only its owner's thread may write; any thread may read what nobody writes. A
// secret takes four pages: keep few of them.
class Secret {
 public:
  Secret() = default;  // empty
  // All bytes are 0. Running out of memory ends the process.
  explicit Secret(std::size_t size);
  Secret(Secret&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Secret();

  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // The same bytes as characters.
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A copy. REQUIRES that the source lives in another Secret, or is overwritten soon.
Secret copy_secret(std::span<const std::byte> bytes);

}  // namespace starling
