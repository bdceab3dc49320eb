#include "optim/codec/encoding.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace starling::optim {

std::size_t Encoding::bytes(std::size_t count, bool is_whole) const {
  if (!is_lossy(is_whole)) return count * format_of(is_whole).width;
  const std::size_t rest = count % compressor->block;
  return count / compressor->block * compressor->bytes(compressor->block, density) +
         (rest > 0 ? compressor->bytes(rest, density) : 0);
}

template <class S>
void Encoding::encode(std::span<const S> v, bool is_whole, std::byte* wire) const {
  if (!is_lossy(is_whole)) {
    const FormatKernels<S>& plain = kernels<S>(format_of(is_whole));
    if (!plain.is_native()) return plain.encode(v, wire);
    std::memcpy(wire, v.data(), v.size_bytes());
    return;
  }
  while (!v.empty()) {
    const auto block = v.first(std::min(v.size(), compressor->block));
    kernels<S>(*compressor).encode(block, density, wire);
    wire += compressor->bytes(block.size(), density);
    v = v.subspan(block.size());
  }
}

template <class S>
bool Encoding::decode(const std::byte* wire, bool is_whole, std::span<S> q) const {
  if (!is_lossy(is_whole)) {
    const FormatKernels<S>& plain = kernels<S>(format_of(is_whole));
    if (plain.is_native())
      std::memcpy(q.data(), wire, q.size_bytes());
    else
      plain.decode(wire, q);
    return std::ranges::all_of(q, [](S value) { return std::isfinite(value); });
  }
  while (!q.empty()) {
    const auto block = q.first(std::min(q.size(), compressor->block));
    if (!kernels<S>(*compressor).decode(wire, density, block)) return false;
    wire += compressor->bytes(block.size(), density);
    q = q.subspan(block.size());
  }
  return true;
}

template void Encoding::encode(std::span<const float>, bool, std::byte*) const;
template void Encoding::encode(std::span<const double>, bool, std::byte*) const;
template bool Encoding::decode(const std::byte*, bool, std::span<float>) const;
template bool Encoding::decode(const std::byte*, bool, std::span<double>) const;

}  // namespace starling::optim
