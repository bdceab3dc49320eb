#include "optim/codec/channel.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/planted.h"
#include "optim/codec/byte_reader.h"
#include "optim/codec/codec.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

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

template <class S>
void Channel<S>::keep(std::span<const std::uint64_t> edges) {
  std::erase_if(edges_, [&](const auto& item) {
    return std::ranges::find(edges, item.first) == edges.end();
  });
}

template <class S>
typename Channel<S>::Range Channel<S>::range_of(std::uint64_t pair) const {
  const std::size_t count = count_of(layout_.segments);
  if (pair == 1) return {0, count};
  const std::size_t part = part_of(pair);
  return {part * count / coding_.parts, (part + 1) * count / coding_.parts};
}

// Visits the blocks of a pair in order until one visit returns false; returns whether none did.
template <class S>
template <class Visit>
bool Channel<S>::for_blocks(std::uint64_t pair, Visit visit) const {
  const Range range = range_of(pair);
  const std::size_t size = count_of(layout_.segments);
  for (std::size_t half = 0; half < layout_.halves; ++half) {
    std::size_t begin = 0;  // of the segment
    for (const auto& [count, is_whole] : layout_.segments) {
      const std::size_t end = std::min(begin + count, range.end);
      for (std::size_t first = std::max(begin, range.first); first < end; first += block()) {
        const std::size_t length = std::min(block(), end - first);
        if (!visit(Place{half * size + first, length, half, is_whole})) return false;
      }
      begin += count;
    }
  }
  return true;
}

template <class S>
std::size_t Channel<S>::bytes(std::uint64_t pair) const {
  if (pair == 1) return optim::bytes_limit(*format_, layout_.size());
  const Range range = range_of(pair);
  std::size_t bytes = 0, begin = 0;
  for (const auto& [size, is_whole] : layout_.segments) {
    const std::size_t first = std::max(begin, range.first);
    const std::size_t end = std::max(first, std::min(begin + size, range.end));
    const std::size_t rest = (end - first) % block();
    bytes += (end - first) / block() * this->bytes(Place{.count = block(), .is_whole = is_whole});
    if (rest > 0) bytes += this->bytes(Place{.count = rest, .is_whole = is_whole});
    begin += size;
  }
  return layout_.halves * bytes;
}

template <class S>
std::size_t Channel<S>::bytes(const Place& place) const {
  return place.is_whole || !coding_.compressor
             ? place.count * format_->width
             : coding_.compressor->bytes(place.count, coding_.density);
}

// Encodes v, and decodes it into q; returns whether q is finite.
template <class S>
bool Channel<S>::encode(const Place& place, std::span<const S> v, std::span<S> q,
                        std::byte* wire) const {
  const FormatKernels<S>& plain = kernels<S>(*format_);
  if (!place.is_whole && coding_.compressor)
    kernels<S>(*coding_.compressor).encode(v, coding_.density, wire);
  else if (plain.is_native())
    std::memcpy(wire, v.data(), v.size_bytes());
  else
    plain.encode(v, wire);
  return decode(place, wire, q);
}

template <class S>
bool Channel<S>::decode(const Place& place, const std::byte* wire, std::span<S> q) const {
  const FormatKernels<S>& plain = kernels<S>(*format_);
  if (!place.is_whole && coding_.compressor)
    return kernels<S>(*coding_.compressor).decode(wire, coding_.density, q);
  if (plain.is_native())
    std::memcpy(q.data(), wire, q.size_bytes());
  else
    plain.decode(wire, q);
  return is_finite(std::span<const S>(q));
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
    const auto delta = encode(pair, s, end.replica, buffer.get());
    if (!delta) encode(pair, end.replica, end.replica, buffer.get());
    end.quality = end.quality_before;
    message.step = delta ? end.quality.after(*delta) : 0;
    message.payload = BufferPool::seal(std::move(buffer), size);
  }
  end.offered = message.payload;
  message.quality = end.quality.mean();
  return message;
}

template <class S>
typename Channel<S>::Message Channel<S>::first_message(std::span<const S> s,
                                                       BufferPool& pool) const {
  if (is_finite(s)) return {optim::encode(*format_, s, pool), 1};
  const std::vector<S> nothing(s.size());
  return {optim::encode(*format_, std::span<const S>(nothing), pool), 0};
}

// Encodes s - r and returns its delta, the worst of the halves; nothing if s is not finite.
template <class S>
std::optional<double> Channel<S>::encode(std::uint64_t pair, std::span<const S> s,
                                         std::span<const S> r, std::byte* wire) const {
  std::array<S, kBlockLimit> difference, decoded;
  std::vector<Energies> energies(layout_.halves);
  const bool is_finite = for_blocks(pair, [&](const Place& place) {
    const std::span<const S> of_s = s.subspan(place.first, place.count);
    const std::span<const S> of_r = r.subspan(place.first, place.count);
    const auto v = std::span(difference).first(place.count);
    const auto q = std::span(decoded).first(place.count);
    for (std::size_t k = 0; k < place.count; ++k) v[k] = of_s[k] - of_r[k];
    Energies& sums = energies[place.half];
    const double norm = squared_norm(std::span<const S>(v));
    if (!std::isfinite(norm)) return false;
    if (!encode(place, v, q, wire)) return false;
    wire += bytes(place);
    if (place.is_whole || !coding_.compressor)
      return true;  // it would make the quality look better than it is
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
  Decoder(const Channel& channel, std::uint64_t pair, const Payload& payload)
      : channel_(channel),
        bytes_(payload),
        numbers_(*channel.format_, payload),
        is_whole_(pair == 1) {}

  // The next block, until the next call; empty if the bytes are no such block.
  std::span<const S> next(const Place& place) {
    const std::span<S> q = std::span(decoded_).first(place.count);
    if (is_whole_) {
      const std::span<const S> numbers = numbers_.next(q);
      return is_finite(numbers) ? numbers : std::span<const S>();
    }
    const std::byte* wire = bytes_.next(std::span(scratch_).first(channel_.bytes(place)));
    return channel_.decode(place, wire, q) ? q : std::span<const S>();
  }

 private:
  const Channel& channel_;
  ByteReader bytes_;
  VectorReader<S> numbers_;
  bool is_whole_;
  std::array<S, kBlockLimit> decoded_;
  std::array<std::byte, kBlockLimit * sizeof(double)> scratch_;
};

template <class S>
std::vector<typename Channel<S>::Piece> Channel<S>::take(std::uint64_t edge, std::uint64_t pair,
                                                         const Payload* own,
                                                         const Payload& theirs) {
  Edge& end = edges_[edge];
  const bool fits =
      pair == ++end.taken && theirs.size() == bytes(pair) && (!own || own->size() == bytes(pair));
  end.is_broken = end.is_broken || !fits;
  if (end.is_broken) return {};
  end.difference.resize(layout_.size());
  Decoder their_blocks(*this, pair, theirs), own_blocks(*this, pair, own ? *own : theirs);
  end.is_broken = !for_blocks(pair, [&](const Place& place) {
    const std::span<const S> plus = their_blocks.next(place);
    if (plus.empty()) return false;
    const std::span<S> to = std::span(end.difference).subspan(place.first, place.count);
    if (!own) {
      axpy(S{1}, plus, to);
      return true;
    }
    const std::span<const S> minus = own_blocks.next(place);
    if (minus.empty()) return false;
    if (PLANTED(replica_misses) && pair % 8 == 0 && edge % 2 == 0) return true;
    for (std::size_t k = 0; k < place.count; ++k) to[k] += plus[k] - minus[k];
    return true;
  });
  return end.is_broken ? std::vector<Piece>() : pieces_of(end.difference, pair);
}

template <class S>
std::vector<typename Channel<S>::Piece> Channel<S>::pieces_of(std::span<const S> difference,
                                                              std::uint64_t pair) const {
  const auto [first, last] = range_of(pair);
  std::vector<Piece> pieces;
  for (std::size_t half = 0; half < layout_.halves; ++half) {
    const std::size_t begin = half * count_of(layout_.segments) + first;
    pieces.push_back({begin, difference.subspan(begin, last - first)});
  }
  return pieces;
}

template <class S>
double Channel<S>::span_of_part(std::uint64_t edge, std::uint64_t pair, double span,
                                bool is_averaged) {
  std::vector<double>& spans = edges_[edge].spans;
  spans.resize(coding_.parts);
  for (double& since : spans) since += span;
  if (!is_averaged) return span;
  if (pair > 1) return std::exchange(spans[part_of(pair)], 0);
  const double whole = spans.front();
  std::ranges::fill(spans, 0);
  return whole;
}

// r += q of the last offer, which was sent.
template <class S>
void Channel<S>::follow_offer(Edge& end) const {
  end.replica.resize(layout_.size());
  Decoder blocks(*this, end.pair, end.offered);
  for_blocks(end.pair, [&](const Place& place) {
    axpy(S{1}, blocks.next(place), std::span(end.replica).subspan(place.first, place.count));
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
