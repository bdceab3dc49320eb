#include "optim/codec/codec.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace starling::optim {

static_assert(std::endian::native == std::endian::little, "parameters travel little-endian");

namespace {

template <class S>
bool is_native(Codec codec) {
  return std::is_same_v<S, float> ? codec == Codec::f32 : codec == Codec::f64;
}

template <class Wire, class S>
void narrow(std::span<const S> values, std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Wire value = static_cast<Wire>(values[i]);
    std::memcpy(out + i * sizeof(Wire), &value, sizeof(Wire));
  }
}

template <class Wire, class S>
void widen(const std::byte* bytes, std::span<S> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Wire value;
    std::memcpy(&value, bytes + i * sizeof(Wire), sizeof(Wire));
    out[i] = static_cast<S>(value);
  }
}

template <class S>
void decode_bytes(Codec codec, const std::byte* bytes, std::span<S> out) {
  if (is_native<S>(codec)) {
    if (!out.empty()) std::memcpy(out.data(), bytes, out.size_bytes());
  } else if (codec == Codec::f32) {
    widen<float>(bytes, out);
  } else {
    widen<double>(bytes, out);
  }
}

}  // namespace

template <class S>
Payload encode(Codec codec, std::span<const S> values, BufferPool& pool) {
  const std::size_t bytes = values.size() * bytes_per_number(codec);
  auto buffer = pool.take(bytes);
  if (is_native<S>(codec)) {
    if (bytes > 0) std::memcpy(buffer.get(), values.data(), bytes);
  } else if (codec == Codec::f32) {
    narrow<float>(values, buffer.get());
  } else {
    narrow<double>(values, buffer.get());
  }
  return BufferPool::seal(std::move(buffer), bytes);
}

template <class S>
Payload encode(Codec codec, SharedVector<S>& values, BufferPool& pool) {
  return is_native<S>(codec) ? values.share() : encode(codec, values.values(), pool);
}

template <class S>
void decode(Codec codec, const Payload& payload, std::size_t first, std::span<S> out) {
  const std::size_t width = bytes_per_number(codec);
  std::byte scratch[4096];
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), sizeof(scratch) / width);
    payload.copy_to(first * width, {scratch, count * width});
    decode_bytes(codec, scratch, out.first(count));
    first += count;
    out = out.subspan(count);
  }
}

bool is_vector(Codec codec, const Payload& payload, std::size_t count) {
  const std::size_t width = bytes_per_number(codec);
  if (payload.size() != count * width) return false;
  return std::ranges::all_of(payload.pieces(), [width](const Payload::Piece& piece) {
    return piece.bytes.size() % width == 0;
  });
}

template <class S>
std::span<const S> VectorReader<S>::next(std::span<S> scratch) {
  const std::size_t width = bytes_per_number(codec_);
  const auto& pieces = payload_->pieces();
  std::size_t filled = 0;
  while (filled < scratch.size()) {
    ENSURE(piece_ < pieces.size(), "a vector is not read past its end");
    const std::span<const std::byte> rest = pieces[piece_].bytes.subspan(offset_);
    const std::size_t count = std::min(scratch.size() - filled, rest.size() / width);
    offset_ += count * width;
    if (offset_ == pieces[piece_].bytes.size()) ++piece_, offset_ = 0;
    const bool aligned = reinterpret_cast<std::uintptr_t>(rest.data()) % alignof(S) == 0;
    if (count == scratch.size() && is_native<S>(codec_) && aligned)
      return {reinterpret_cast<const S*>(rest.data()), count};
    decode_bytes(codec_, rest.data(), scratch.subspan(filled, count));
    filled += count;
  }
  return scratch;
}

template Payload encode(Codec, std::span<const float>, BufferPool&);
template Payload encode(Codec, std::span<const double>, BufferPool&);
template Payload encode(Codec, SharedVector<float>&, BufferPool&);
template Payload encode(Codec, SharedVector<double>&, BufferPool&);
template void decode(Codec, const Payload&, std::size_t, std::span<float>);
template void decode(Codec, const Payload&, std::size_t, std::span<double>);
template class VectorReader<float>;
template class VectorReader<double>;

}  // namespace starling::optim
