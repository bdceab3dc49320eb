#include "base/key_stream.h"

#include <sodium.h>

#include "base/check.h"

namespace starling {
namespace {

constexpr std::size_t kBlockBytes = 64;  // of ChaCha20

}  // namespace

static_assert(KeyStream::kKeySize == crypto_stream_chacha20_KEYBYTES);

KeyStream::KeyStream(const Secret& key) : key_(copy_secret(key.bytes())) {
  ENSURE(key.size() == kKeySize, "a key has its size");
}

std::uint64_t KeyStream::next() {
  if (used_ == numbers_.size()) refill();
  return numbers_[used_++];
}

// The cipher of zeros is the stream itself.
void KeyStream::refill() {
  constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> kNonce{};
  numbers_.fill(0);
  auto* const bytes = reinterpret_cast<unsigned char*>(numbers_.data());
  crypto_stream_chacha20_xor_ic(bytes, bytes, sizeof numbers_, kNonce.data(), block_,
                                reinterpret_cast<const unsigned char*>(key_.bytes().data()));
  block_ += sizeof numbers_ / kBlockBytes;
  used_ = 0;
}

}  // namespace starling
