#include "optim/codec/channel.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/check.h"
#include "base/planted.h"
#include "optim/codec/byte_reader.h"
#include "optim/codec/codec.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// A difference below this fraction of the vector's norm is rounding, and its delta counts as 1.
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
typename Channel<S>::Range Channel<S>::range_of(std::uint64_t number) const {
  const std::size_t count = size_ / halves_, parts = form_.coding.parts;
  if (number == 1) return {0, count};
  const std::size_t part = part_of(number);
  return {part * count / parts, (part + 1) * count / parts};
}

// Visits the tiles of a pair in order until a visit returns false; returns whether none did.
template <class S>
template <class Visit>
bool Channel<S>::for_tiles(std::uint64_t number, Visit visit) const {
  const Range range = range_of(number);
  for (std::size_t half = 0; half < halves_; ++half) {
    std::size_t begin = 0;  // of the segment
    for (const auto& [count, is_whole] : form_.segments) {
      const std::size_t end = std::min(begin + count, range.end);
      for (std::size_t first = std::max(begin, range.first); first < end; first += kBlockLimit) {
        const std::size_t length = std::min(kBlockLimit, end - first);
        if (!visit(Tile{half * (size_ / halves_) + first, length, half, is_whole})) return false;
      }
      begin += count;
    }
  }
  return true;
}

template <class S>
std::size_t Channel<S>::bytes(std::uint64_t number, std::size_t rung) const {
  const Encoding encoding = encoding_of(number, rung);
  const Range range = range_of(number);
  std::size_t bytes = 0, begin = 0;
  for (const auto& [size, is_whole] : form_.segments) {
    const std::size_t first = std::max(begin, range.first);
    const std::size_t end = std::max(first, std::min(begin + size, range.end));
    bytes += encoding.bytes(end - first, is_whole);
    begin += size;
  }
  return header_bytes(number) + halves_ * bytes;
}

template <class S>
std::size_t Channel<S>::bytes_limit() const {
  std::size_t limit = std::max(bytes(1), bytes(2));
  if (form_.coding.is_chosen)
    for (std::size_t rung = 1; rung < rung_count(); ++rung) limit = std::max(limit, bytes(2, rung));
  return limit;
}

template <class S>
Encoding Channel<S>::encoding_of(std::uint64_t number, std::size_t rung) const {
  const Format* format = form_.format;
  if (number == 1) return {.whole = format, .format = format};
  if (form_.coding.is_chosen) return optim::encoding_of(form_, rung);
  return {format, format, form_.coding.compressor, form_.coding.density};
}

// REQUIRES a message that is not empty.
template <class S>
std::size_t Channel<S>::rung_of(std::uint64_t number, const Payload& message) const {
  return header_bytes(number) > 0 ? static_cast<std::size_t>(ByteReader(message).rest().front())
                                  : 0;
}

template <class S>
bool Channel<S>::fits(std::uint64_t number, const Payload& message) const {
  if (message.size() < header_bytes(number)) return false;
  const std::size_t rung = message.empty() ? 0 : rung_of(number, message);
  return rung < rung_count() && message.size() == bytes(number, rung);
}

// ---------------------------------------------------------------- offers

template <class S>
EdgeOffer Channel<S>::offer(const EdgePlace& to, std::span<const S> s, BufferPool& pool) {
  const std::uint64_t number = to.number;
  Edge& end = edges_[to.edge];
  ENSURE(number == end.number || number == end.number + 1, "pairs are offered in order");
  ENSURE(number > 0 && s.size() == size_, "a pair is of whole vectors");
  if (number > end.number && end.number > 0) follow_offer(end);
  if (number > end.number) end.quality_before = end.quality;
  end.number = number;
  EdgeOffer offer{.edge = to.edge, .number = number, .unshortened = bytes(number)};
  if (number == 1) {
    const std::vector<S> zeros(is_finite(s) ? 0 : s.size());
    offer.theta = zeros.empty() ? 1 : 0;
    offer.payload =
        optim::encode(*form_.format, zeros.empty() ? s : std::span<const S>(zeros), pool);
    end.quality = {};
    end.quality.after(1);
  } else {
    const std::size_t rung = form_.coding.is_chosen ? rung_for(form_, to.shortening) : 0;
    const std::size_t size = bytes(number, rung), header = header_bytes(number);
    const Encoding encoding = encoding_of(number, rung);
    auto buffer = pool.take(size);
    if (header > 0) buffer.get()[0] = static_cast<std::byte>(rung);
    const auto delta = encode(number, encoding, s, end.replica, buffer.get() + header);
    if (!delta) encode(number, encoding, end.replica, end.replica, buffer.get() + header);
    end.quality = end.quality_before;
    offer.theta = delta ? end.quality.after(*delta) : 0;
    offer.payload = BufferPool::seal(std::move(buffer), size);
    end.rung = rung;
  }
  end.offered = offer.payload;
  offer.quality = end.quality.mean();
  return offer;
}

// Encodes s - r and returns the smallest delta of the halves; nothing if s is not finite.
template <class S>
std::optional<double> Channel<S>::encode(std::uint64_t number, const Encoding& encoding,
                                         std::span<const S> s, std::span<const S> r,
                                         std::byte* wire) const {
  std::array<S, kBlockLimit> difference, decoded;
  std::vector<Energies> energies(halves_);
  const bool is_finite = for_tiles(number, [&](const Tile& tile) {
    const std::span<const S> of_s = s.subspan(tile.first, tile.count);
    const std::span<const S> of_r = r.subspan(tile.first, tile.count);
    const auto v = std::span(difference).first(tile.count);
    const auto q = std::span(decoded).first(tile.count);
    for (std::size_t k = 0; k < tile.count; ++k) v[k] = of_s[k] - of_r[k];
    const double norm = squared_norm(std::span<const S>(v));
    if (!std::isfinite(norm)) return false;
    encoding.encode(std::span<const S>(v), tile.is_whole, wire);
    if (!encoding.decode(wire, tile.is_whole, q)) return false;
    wire += encoding.bytes(tile.count, tile.is_whole);
    // Lossless tiles are left out: they would raise the quality.
    if (!encoding.is_lossy(tile.is_whole)) return true;
    Energies& sums = energies[tile.half];
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

// Decodes one message, tile by tile.
template <class S>
class Channel<S>::Decoder {
 public:
  // REQUIRES fits().
  Decoder(const Channel& channel, std::uint64_t number, const Payload& payload)
      : bytes_(payload), encoding_(channel.encoding_of(number, channel.rung_of(number, payload))) {
    bytes_.pass(channel.header_bytes(number));
  }

  // The next numbers, valid until the next call; empty if the bytes are invalid.
  std::span<const S> next(const Tile& tile) {
    const std::span<S> q = std::span(decoded_).first(tile.count);
    const std::byte* wire =
        bytes_.next(std::span(scratch_).first(encoding_.bytes(tile.count, tile.is_whole)));
    return encoding_.decode(wire, tile.is_whole, q) ? q : std::span<const S>();
  }

 private:
  ByteReader bytes_;
  Encoding encoding_;
  std::array<S, kBlockLimit> decoded_;
  std::array<std::byte, kBlockLimit * sizeof(double)> scratch_;
};

template <class S>
std::vector<typename Channel<S>::Piece> Channel<S>::take(std::uint64_t edge, std::uint64_t number,
                                                         const Payload* own,
                                                         const Payload& theirs) {
  Edge& end = edges_[edge];
  const bool is_next = number == ++end.taken;
  end.is_broken =
      end.is_broken || !is_next || !fits(number, theirs) || (own && !fits(number, *own));
  if (end.is_broken) return {};
  end.difference.resize(size_);
  Decoder their_tiles(*this, number, theirs), own_tiles(*this, number, own ? *own : theirs);
  end.is_broken = !for_tiles(number, [&](const Tile& tile) {
    const std::span<const S> plus = their_tiles.next(tile);
    if (plus.empty()) return false;
    const std::span<S> to = std::span(end.difference).subspan(tile.first, tile.count);
    if (!own) {
      axpy(S{1}, plus, to);
      return true;
    }
    const std::span<const S> minus = own_tiles.next(tile);
    if (minus.empty()) return false;
    if (PLANTED(replica_misses) && number % 8 == 0 && edge % 2 == 0) return true;
    for (std::size_t k = 0; k < tile.count; ++k) to[k] += plus[k] - minus[k];
    return true;
  });
  return end.is_broken ? std::vector<Piece>() : pieces_of(end.difference, number);
}

template <class S>
std::vector<typename Channel<S>::Piece> Channel<S>::pieces_of(std::span<const S> difference,
                                                              std::uint64_t number) const {
  const auto [first, last] = range_of(number);
  std::vector<Piece> pieces;
  for (std::size_t half = 0; half < halves_; ++half) {
    const std::size_t begin = half * (size_ / halves_) + first;
    pieces.push_back({begin, difference.subspan(begin, last - first)});
  }
  return pieces;
}

template <class S>
double Channel<S>::span_of_part(std::uint64_t edge, std::uint64_t number, double span,
                                bool is_averaged) {
  std::vector<double>& spans = edges_[edge].spans;
  spans.resize(form_.coding.parts);
  for (double& since : spans) since += span;
  if (!is_averaged) return span;
  if (number > 1) return std::exchange(spans[part_of(number)], 0);
  const double whole = spans.front();
  std::ranges::fill(spans, 0);
  return whole;
}

// r += q of the last offer, which has been sent.
template <class S>
void Channel<S>::follow_offer(Edge& end) const {
  end.replica.resize(size_);
  Decoder tiles(*this, end.number, end.offered);
  for_tiles(end.number, [&](const Tile& tile) {
    axpy(S{1}, tiles.next(tile), std::span(end.replica).subspan(tile.first, tile.count));
    return true;
  });
}

template <class S>
CodecReport Channel<S>::report() const {
  CodecReport report{.vector_bytes = bytes(2)};
  double sum = 0;
  std::size_t vectors = 0;
  std::set<std::size_t> rungs;
  for (const auto& [edge, end] : edges_) {
    sum += end.quality.mean();
    vectors += bytes(2, end.rung);
    rungs.insert(end.rung);
    report.memory_bytes +=
        (end.replica.size() + end.difference.size()) * sizeof(S) + end.offered.size();
  }
  if (edges_.empty()) return report;
  report.quality = sum / static_cast<double>(edges_.size());
  report.vector_bytes = vectors / edges_.size();
  if (form_.coding.is_chosen)
    for (const std::size_t rung : rungs)
      report.chosen.append(report.chosen.empty() ? "" : ", ").append(rung_name(form_, rung));
  return report;
}

template class Channel<float>;
template class Channel<double>;

}  // namespace starling::optim
