#include "base/secret.h"

#include <sodium.h>

#include <algorithm>

#include "base/check.h"

namespace starling {
namespace {

// Draws the canary that guards every secret. Any number of threads may call it.
void prepare() {
  static const bool is_ready = sodium_init() >= 0;
  ENSURE(is_ready, "libsodium is ready");
}

}  // namespace

Secret::Secret(std::size_t size) : size_(size) {
  if (size == 0) return;
  prepare();
  data_ = static_cast<std::byte*>(sodium_malloc(size));
  ENSURE(data_ != nullptr, "there is memory for a secret");
  sodium_memzero(data_, size);
}

Secret::~Secret() {
  if (data_) sodium_free(data_);
}

Secret copy_secret(std::span<const std::byte> bytes) {
  Secret copy(bytes.size());
  std::ranges::copy(bytes, copy.bytes().begin());
  return copy;
}

}  // namespace starling
