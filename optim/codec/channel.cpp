#include "optim/codec/channel.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/planted.h"
#include "optim/codec/byte_reader.h"
#include "optim/codec/codec.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// Of the first pair, whole.
const Format& whole_format() {
  static const Format& format = *format_named("f32");
  return format;
}

// A difference below this part of the vector is rounding, whose quality says nothing.
template <class S>
constexpr double kRounding = 256.0 * static_cast<double>(std::numeric_limits<S>::epsilon());

struct Energies {
  double vector = 0, difference = 0, lost = 0;  // squared norms
};
template <class S>
double delta_of(const Energies& energies) {
  const double least = kRounding<S> * kRounding<S> * energies.vector;
  return energies.difference <= least ? 1 : 1 - energies.lost / energies.difference;
}

template <class S>
bool is_finite(std::span<const S> values) {
  return std::ranges::all_of(values, [](S value) { return std::isfinite(value); });
}

}  // namespace

std::size_t Layout::size() const {
  return halves * std::accumulate(segments.begin(), segments.end(), std::size_t{0});
}

template <class S>
void Channel<S>::keep(std::span<const std::uint64_t> edges) {
  std::erase_if(edges_, [&](const auto& item) {
    return std::ranges::find(edges, item.first) == edges.end();
  });
}

// Visits the blocks in order until one visit returns false; returns whether none did.
template <class S>
template <class Visit>
bool Channel<S>::for_blocks(Visit visit) const {
  std::size_t first = 0;
  for (std::size_t half = 0; half < layout_.halves; ++half)
    for (const std::size_t segment : layout_.segments)
      for (const std::size_t end = first + segment; first < end;) {
        const std::size_t count = std::min(coding_.compressor->block, end - first);
        if (!visit(Place{first, count, half})) return false;
        first += count;
      }
  return true;
}

template <class S>
std::size_t Channel<S>::bytes(std::uint64_t pair) const {
  if (pair == 1) return optim::bytes_limit(whole_format(), layout_.size());
  std::size_t bytes = 0;
  for_blocks([&](const Place& place) {
    bytes += coding_.compressor->bytes(place.count, coding_.density);
    return true;
  });
  return bytes;
}

// ---------------------------------------------------------------- offers

template <class S>
typename Channel<S>::Message Channel<S>::offer(std::uint64_t edge, std::uint64_t pair,
                                               std::span<const S> s, BufferPool& pool) {
  Edge& end = edges_[edge];
  ENSURE(pair == end.pair || pair == end.pair + 1, "pairs are offered in order");
  ENSURE(pair > 0 && s.size() == layout_.size(), "a pair is of whole vectors");
  if (pair > end.pair && end.pair > 0) follow_offer(end);
  if (pair > end.pair) end.quality_before = end.quality;
  end.pair = pair;
  Message message;
  if (pair == 1) {
    message = first_message(s, pool);
    end.quality = {};
    end.quality.after(1);
  } else {
    const std::size_t size = bytes(pair);
    auto buffer = pool.take(size);
    const auto delta = encode(s, end.replica, buffer.get());
    if (!delta) encode(end.replica, end.replica, buffer.get());
    end.quality = end.quality_before;
    message.step = delta ? end.quality.after(*delta) : 0;
    message.payload = BufferPool::seal(std::move(buffer), size);
  }
  end.offered = message.payload;
  return message;
}

template <class S>
typename Channel<S>::Message Channel<S>::first_message(std::span<const S> s,
                                                       BufferPool& pool) const {
  if (is_finite(s)) return {optim::encode(whole_format(), s, pool), 1};
  const std::vector<S> nothing(s.size());
  return {optim::encode(whole_format(), std::span<const S>(nothing), pool), 0};
}

// Encodes s - r and returns its delta, the worst of the halves; nothing if s is not finite.
template <class S>
std::optional<double> Channel<S>::encode(std::span<const S> s, std::span<const S> r,
                                         std::byte* wire) const {
  const BlockKernels<S>& kernel = kernels<S>(*coding_.compressor);
  std::array<S, kBlockLimit> difference, decoded;
  std::vector<Energies> energies(layout_.halves);
  const bool is_finite = for_blocks([&](const Place& place) {
    const std::span<const S> of_s = s.subspan(place.first, place.count);
    const std::span<const S> of_r = r.subspan(place.first, place.count);
    const auto v = std::span(difference).first(place.count);
    const auto q = std::span(decoded).first(place.count);
    for (std::size_t k = 0; k < place.count; ++k) v[k] = of_s[k] - of_r[k];
    Energies& sums = energies[place.half];
    const double norm = squared_norm(std::span<const S>(v));
    if (!std::isfinite(norm)) return false;
    kernel.encode(v, coding_.density, wire);
    ENSURE(kernel.decode(wire, coding_.density, q), "what was encoded can be decoded");
    wire += coding_.compressor->bytes(place.count, coding_.density);
    sums.vector += squared_norm(of_s);
    sums.difference += norm;
    sums.lost += squared_distance(std::span<const S>(v), std::span<const S>(q));
    return true;
  });
  if (!is_finite) return std::nullopt;
  double least = 1;
  for (const Energies& sums : energies) least = std::min(least, delta_of<S>(sums));
  return least;
}

// ---------------------------------------------------------------- pairs

// The messages of one pair, block by block.
template <class S>
class Channel<S>::Decoder {
 public:
  Decoder(const Coding& coding, std::uint64_t pair, const Payload& payload)
      : coding_(coding), bytes_(payload), numbers_(whole_format(), payload), is_whole_(pair == 1) {}

  // The next `count` numbers, until the next call; empty if they are no such block.
  std::span<const S> next(std::size_t count) {
    const std::span<S> q = std::span(decoded_).first(count);
    if (is_whole_) {
      const std::span<const S> numbers = numbers_.next(q);
      return is_finite(numbers) ? numbers : std::span<const S>();
    }
    const std::size_t size = coding_.compressor->bytes(count, coding_.density);
    const std::byte* wire = bytes_.next(std::span(scratch_).first(size));
    const bool is_sound = kernels<S>(*coding_.compressor).decode(wire, coding_.density, q);
    return is_sound ? q : std::span<const S>();
  }

 private:
  const Coding& coding_;
  ByteReader bytes_;
  VectorReader<S> numbers_;
  bool is_whole_;
  std::array<S, kBlockLimit> decoded_;
  std::array<std::byte, kBlockLimit * sizeof(S)> scratch_;
};

template <class S>
std::span<const S> Channel<S>::take(std::uint64_t edge, std::uint64_t pair, const Payload* own,
                                    const Payload& theirs) {
  Edge& end = edges_[edge];
  const bool fits =
      pair == ++end.taken && theirs.size() == bytes(pair) && (!own || own->size() == bytes(pair));
  end.is_broken = end.is_broken || !fits;
  if (end.is_broken) return {};
  end.difference.resize(layout_.size());
  Decoder their_blocks(coding_, pair, theirs), own_blocks(coding_, pair, own ? *own : theirs);
  end.is_broken = !for_blocks([&](const Place& place) {
    const std::span<const S> plus = their_blocks.next(place.count);
    if (plus.empty()) return false;
    const std::span<S> to = std::span(end.difference).subspan(place.first, place.count);
    if (!own) {
      axpy(S{1}, plus, to);
      return true;
    }
    const std::span<const S> minus = own_blocks.next(place.count);
    if (minus.empty()) return false;
    if (PLANTED(replica_misses) && pair % 8 == 0 && edge % 2 == 0) return true;
    for (std::size_t k = 0; k < place.count; ++k) to[k] += plus[k] - minus[k];
    return true;
  });
  return end.is_broken ? std::span<const S>() : std::span<const S>(end.difference);
}

// r += q of the last offer, which was sent.
template <class S>
void Channel<S>::follow_offer(Edge& end) const {
  end.replica.resize(layout_.size());
  Decoder blocks(coding_, end.pair, end.offered);
  for_blocks([&](const Place& place) {
    axpy(S{1}, blocks.next(place.count), std::span(end.replica).subspan(place.first, place.count));
    return true;
  });
}

template <class S>
std::size_t Channel<S>::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [edge, end] : edges_)
    bytes += (end.replica.size() + end.difference.size()) * sizeof(S) + end.offered.size();
  return bytes;
}

template <class S>
double Channel<S>::quality() const {
  if (edges_.empty()) return 1;
  double sum = 0;
  for (const auto& [edge, end] : edges_) sum += end.quality.mean();
  return sum / static_cast<double>(edges_.size());
}

template class Channel<float>;
template class Channel<double>;

}  // namespace starling::optim
