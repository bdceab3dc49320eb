#include "optim/codec/codec.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace starling::optim {
namespace {

template <class S>
void decode_bytes(const Format& format, const std::byte* wire, std::span<S> out) {
  const FormatKernels<S>& kernel = kernels<S>(format);
  if (!kernel.is_native())
    kernel.decode(wire, out);
  else if (!out.empty())
    std::memcpy(out.data(), wire, out.size_bytes());
}

}  // namespace

template <class S>
void write_numbers(const Format& format, std::span<const S> values, std::byte* wire) {
  const FormatKernels<S>& kernel = kernels<S>(format);
  if (!kernel.is_native())
    kernel.encode(values, wire);
  else if (!values.empty())
    std::memcpy(wire, values.data(), values.size_bytes());
}

template <class S>
Payload encode(const Format& format, std::span<const S> values, BufferPool& pool) {
  const std::size_t bytes = values.size() * format.width;
  auto buffer = pool.take(bytes);
  write_numbers(format, values, buffer.get());
  return BufferPool::seal(std::move(buffer), bytes);
}

template <class S>
Payload encode(const Format& format, SharedVector<S>& values, BufferPool& pool) {
  return kernels<S>(format).is_native() ? values.share() : encode(format, values.values(), pool);
}

template <class S>
std::span<const S> VectorReader<S>::next(std::span<S> scratch) {
  const std::size_t width = format_->width;
  std::size_t filled = 0;
  while (filled < scratch.size()) {
    const std::span<const std::byte> rest = bytes_.rest();
    const std::size_t count = std::min(scratch.size() - filled, rest.size() / width);
    bytes_.pass(count * width);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(rest.data()) % alignof(S) == 0;
    if (count == scratch.size() && kernels<S>(*format_).is_native() && is_aligned)
      return {reinterpret_cast<const S*>(rest.data()), count};
    decode_bytes(*format_, rest.data(), scratch.subspan(filled, count));
    filled += count;
  }
  return scratch;
}

template void write_numbers(const Format&, std::span<const float>, std::byte*);
template void write_numbers(const Format&, std::span<const double>, std::byte*);
template Payload encode(const Format&, std::span<const float>, BufferPool&);
template Payload encode(const Format&, std::span<const double>, BufferPool&);
template Payload encode(const Format&, SharedVector<float>&, BufferPool&);
template Payload encode(const Format&, SharedVector<double>&, BufferPool&);
template class VectorReader<float>;
template class VectorReader<double>;

}  // namespace starling::optim
