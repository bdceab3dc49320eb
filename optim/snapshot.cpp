#include "optim/snapshot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/check.h"

namespace starling::optim {
namespace {

struct Head {
  std::uint32_t magic = 0x50414e53;  // "SNAP"
  std::uint32_t version = kSnapshotVersion;
  std::uint64_t schema = 0, kind = 0, dimension = 0;
  std::uint32_t vectors = 0, numbers = 0;
  std::uint64_t opaque = 0;  // bytes
};
static_assert(sizeof(Head) == 48, "the head lies in bytes as it is documented");

// Without the opaque part.
template <class S>
std::size_t bytes_of(const Head& head) {
  return sizeof(Head) + head.numbers * sizeof(double) +
         (1 + std::size_t{head.vectors}) * head.dimension * sizeof(S);
}

template <class T>
void put(std::byte*& at, std::span<const T> values) {
  if (values.empty()) return;
  std::memcpy(at, values.data(), values.size_bytes());
  at += values.size_bytes();
}

template <class T>
void take(const Payload& payload, std::size_t& offset, std::span<T> values) {
  payload.copy_to(offset, std::as_writable_bytes(values));
  offset += values.size_bytes();
}

template <class T>
bool are_finite(const std::vector<T>& values) {
  return std::ranges::all_of(values, [](T value) { return std::isfinite(value); });
}

Result<Head> read_head(const Payload& payload, std::uint64_t schema, std::size_t dimension) {
  Head head;
  if (payload.size() < sizeof head)
    return fail("the snapshot has {} bytes; expected at least {}", payload.size(), sizeof head);
  std::size_t offset = 0;
  take(payload, offset, std::span(&head, 1));
  if (head.magic != Head().magic) return fail("the snapshot does not begin as one");
  if (head.version != kSnapshotVersion)
    return fail("the snapshot has version {}; expected {}", head.version, kSnapshotVersion);
  if (head.schema != schema) return fail("the snapshot is of another model or precision");
  if (head.dimension != dimension)
    return fail("the snapshot has {} parameters; this model has {}", head.dimension, dimension);
  if (head.vectors > kStateVectorsLimit || head.numbers > kStateNumbersLimit)
    return fail("the snapshot has a state of {} vectors and {} numbers; expected at most {} and {}",
                head.vectors, head.numbers, kStateVectorsLimit, kStateNumbersLimit);
  return head;
}

}  // namespace

template <class S>
std::size_t snapshot_bytes(std::size_t dimension, const State<S>& state) {
  Head head;
  head.dimension = dimension;
  head.vectors = static_cast<std::uint32_t>(state.vectors.size());
  head.numbers = static_cast<std::uint32_t>(state.numbers.size());
  return bytes_of<S>(head) + std::max(state.opaque.size(), state.opaque_limit);
}

template <class S>
Payload encode_snapshot(std::uint64_t schema, std::uint64_t kind, std::span<const S> x,
                        const State<S>& state) {
  ENSURE(state.vectors.size() <= kStateVectorsLimit && state.numbers.size() <= kStateNumbersLimit,
         "a state keeps to its limits");
  Head head;
  head.schema = schema;
  head.kind = kind;
  head.dimension = x.size();
  head.vectors = static_cast<std::uint32_t>(state.vectors.size());
  head.numbers = static_cast<std::uint32_t>(state.numbers.size());
  head.opaque = state.opaque.size();
  const std::size_t size = bytes_of<S>(head);
  // Not a vector: that would write every byte twice.
  const auto bytes = std::shared_ptr<std::byte[]>(new std::byte[size]);
  std::byte* at = bytes.get();
  put(at, std::span<const Head>(&head, 1));
  for (const auto& [name, number] : state.numbers)
    put(at, std::span<const double>(number, 1));
  put(at, x);
  for (const auto& [name, vector] : state.vectors) {
    ENSURE(vector.size() == x.size(), "a vector of the state is as long as the model");
    put(at, std::span<const S>(vector));
  }
  std::vector<Payload::Piece> pieces{{bytes, {bytes.get(), size}}};
  std::ranges::copy(state.opaque.pieces(), std::back_inserter(pieces));
  return Payload(std::move(pieces));
}

template <class S>
Result<Snapshot<S>> decode_snapshot(const Payload& payload, std::uint64_t schema,
                                    std::size_t dimension) {
  TRY(const Head head, read_head(payload, schema, dimension));
  const std::size_t read = bytes_of<S>(head);
  if (payload.size() < read || payload.size() - read != head.opaque)
    return fail("the snapshot has {} bytes; its head says {} and {}", payload.size(), read,
                head.opaque);
  Snapshot<S> snapshot{head.schema, head.kind, std::vector<S>(dimension),
                       {},          {},        payload.slice(read, head.opaque)};
  snapshot.numbers.resize(head.numbers);
  snapshot.vectors.assign(head.vectors, std::vector<S>(dimension));
  std::size_t offset = sizeof head;
  take(payload, offset, std::span(snapshot.numbers));
  take(payload, offset, std::span(snapshot.x));
  for (std::vector<S>& vector : snapshot.vectors) take(payload, offset, std::span(vector));
  if (!are_finite(snapshot.x) || !are_finite(snapshot.numbers) ||
      !std::ranges::all_of(snapshot.vectors, are_finite<S>))
    return fail("the snapshot holds a number that is not finite");
  return snapshot;
}

template std::size_t snapshot_bytes(std::size_t, const State<float>&);
template std::size_t snapshot_bytes(std::size_t, const State<double>&);
template Payload encode_snapshot(std::uint64_t, std::uint64_t, std::span<const float>,
                                 const State<float>&);
template Payload encode_snapshot(std::uint64_t, std::uint64_t, std::span<const double>,
                                 const State<double>&);
template Result<Snapshot<float>> decode_snapshot(const Payload&, std::uint64_t, std::size_t);
template Result<Snapshot<double>> decode_snapshot(const Payload&, std::uint64_t, std::size_t);

}  // namespace starling::optim
