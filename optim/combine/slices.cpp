#include "optim/combine/slices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/prng.h"
#include "optim/codec/codec.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// A message begins with a word, which leaves the numbers after it aligned: of a part a hash of how
// its sender counts, of a mean whether there is one.
using Word = std::uint64_t;
static_assert(sizeof(Word) == kSliceHead);
constexpr Word kNoMean = 0, kMean = 1;

constexpr std::size_t kSliceTile = 1024;

// How a round counts the edge from the giver of a part to the one that sums it.
Word count_hash(const Slot& slot, std::size_t from, std::size_t to) {
  Word hash = mix64(slot.round);
  for (const std::size_t item : {slot.nodes, slot.hubs, from, to}) hash = mix64(hash ^ item);
  return hash;
}

// A message of the word and so many bytes, which `write` writes, in a buffer for `most` bytes.
template <class Write>
Payload message_of(Word word, std::size_t bytes, std::size_t most, BufferPool& pool, Write write) {
  auto buffer = pool.take(sizeof word + most);
  std::memcpy(buffer.get(), &word, sizeof word);
  write(buffer.get() + sizeof word);
  return BufferPool::seal(std::move(buffer), sizeof word + bytes);
}

Payload word_alone(Word word) {
  return Payload::copy_of(std::as_bytes(std::span(&word, 1)));
}

Word word_of(const Payload& message) {
  Word word;
  std::array<std::byte, sizeof word> scratch;
  std::memcpy(&word, ByteReader(message).next(scratch), sizeof word);
  return word;
}

// The numbers of a message.
template <class S>
VectorReader<S> reader_of(const Format& format, const Payload& message) {
  VectorReader<S> reader(format, message);
  reader.skip(sizeof(Word) / format.width);
  return reader;
}

}  // namespace

template <class S>
void Slices<S>::keep(std::span<const std::uint64_t> edges) {
  std::erase_if(edges_, [&](const auto& item) {
    return std::ranges::find(edges, item.first) == edges.end();
  });
}

template <class S>
typename Slices<S>::Range Slices<S>::slice(const Slot& slot, std::size_t place) const {
  if (place >= slot.hubs) return {};
  const std::size_t turn = (place + slot.round) % slot.hubs;
  const std::size_t first = turn * size_ / slot.hubs;
  return {first, (turn + 1) * size_ / slot.hubs - first};
}

template <class S>
std::size_t Slices<S>::most_bytes(const Slot& slot) const {
  return format_->width * (size_ / std::max<std::size_t>(slot.hubs, 1) + 1);
}

template <class S>
bool Slices<S>::holds(const Payload& message, Range range) const {
  return fits(*format_, message, sizeof(Word) / format_->width + range.count);
}

template <class S>
typename Slices<S>::Parts* Slices<S>::find(std::uint64_t edge, std::uint64_t number) {
  const auto on_edge = edges_.find(edge);
  if (on_edge == edges_.end()) return nullptr;
  const auto found = on_edge->second.find(number);
  return found == on_edge->second.end() ? nullptr : &found->second;
}

// ---------------------------------------------------------------- messages

template <class S>
Payload Slices<S>::part(const Slot& slot, std::span<const S> s, BufferPool& pool) const {
  const auto [first, count] = slice(slot, slot.theirs);
  return message_of(
      count_hash(slot, slot.own, slot.theirs), count * format_->width, most_bytes(slot), pool,
      [&](std::byte* wire) { write_numbers(*format_, s.subspan(first, count), wire); });
}

template <class S>
std::vector<EdgeOffer> Slices<S>::offer(std::span<const EdgePlace> to, std::span<const S> s,
                                        BufferPool& pool) {
  std::vector<EdgeOffer> offers(to.size());
  std::vector<EdgeOffer*> means;
  for (std::size_t k = 0; k < to.size(); ++k) {
    offers[k] = {.edge = to[k].edge, .payload = {}, .number = to[k].number};
    if (to[k].number % 2 == 0) {
      means.push_back(&offers[k]);
    } else {
      edges_[to[k].edge][to[k].number] = {.slot = to[k].slot};
      offers[k].payload = part(to[k].slot, s, pool);
    }
  }
  if (!means.empty()) offer_means(means, to.front().slot.round, s, pool);
  return offers;
}

template <class S>
bool Slices<S>::counts_alike(const Parts& parts) const {
  const Slot& slot = parts.slot;
  return parts.has_come && holds(parts.theirs, slice(slot, slot.own)) &&
         word_of(parts.theirs) == count_hash(slot, slot.theirs, slot.own);
}

// The parts of a round are cut alike, also where members have come or gone since then. Means again,
// in rare cases, without those whose numbers are not finite.
template <class S>
void Slices<S>::offer_means(std::span<EdgeOffer*> offers, std::uint64_t round, std::span<const S> s,
                            BufferPool& pool) {
  std::vector<Source> from;
  for (EdgeOffer* offer : offers) {
    offer->payload = word_alone(kNoMean);
    Parts* parts = find(offer->edge, offer->number - 1);
    if (parts && parts->slot.round == round && counts_alike(*parts)) from.push_back({offer, parts});
  }
  while (!from.empty()) {
    const Payload message = mean(from, s, pool);
    const auto is_lost = [](const Source& source) { return !std::isfinite(source.squared); };
    if (std::erase_if(from, is_lost) > 0) continue;
    for (const auto& [offer, parts, squared] : from) {
      offer->payload = message;
      const std::size_t count = slice(parts->slot, parts->slot.own).count;
      const double whole = static_cast<double>(size_) / static_cast<double>(count);
      if (count > 0) parts->distance = std::sqrt(whole * squared);
    }
    return;
  }
}

// Of this node's slice, and ||s_j - s_i||^2 of its numbers.
template <class S>
Payload Slices<S>::mean(std::span<Source> from, std::span<const S> s, BufferPool& pool) const {
  const Slot& slot = from.front().parts->slot;
  const auto [first, count] = slice(slot, slot.own);
  std::vector<VectorReader<S>> readers;
  for (const Source& source : from) readers.push_back(reader_of<S>(*format_, source.parts->theirs));
  std::vector<double> squared(from.size());
  const S share = S{1} / static_cast<S>(from.size() + 1);
  const auto write = [&](std::byte* wire) {
    std::array<S, kSliceTile> sum, scratch;
    for (std::size_t start = 0; start < count; start += kSliceTile) {
      const std::size_t size = std::min(kSliceTile, count - start);
      const std::span<const S> own = s.subspan(first + start, size);
      const std::span<S> tile = std::span(sum).first(size);
      std::ranges::copy(own, tile.begin());
      for (std::size_t k = 0; k < from.size(); ++k) {
        const std::span<const S> theirs = readers[k].next(std::span(scratch).first(size));
        axpy(S{1}, theirs, tile);
        squared[k] += squared_distance(theirs, own);
      }
      for (S& value : tile) value *= share;
      write_numbers<S>(*format_, tile, wire + start * format_->width);
    }
  };
  Payload message = message_of(kMean, count * format_->width, most_bytes(slot), pool, write);
  for (std::size_t k = 0; k < from.size(); ++k) from[k].squared = squared[k];
  return message;
}

// ---------------------------------------------------------------- pairs

// s += gain (more - less), and the flow += factor (more - less). Where s is `less` and the gain 1,
// s becomes `more` to the last bit.
template <class S>
void Slices<S>::add(Range range, const Payload& more, const Payload& less, Gains gains,
                    std::span<S> s, const Count* count) const {
  std::array<S, kSliceTile> more_scratch, less_scratch;
  VectorReader<S> plus = reader_of<S>(*format_, more), minus = reader_of<S>(*format_, less);
  const std::size_t counted = count ? s.size() - count->flow.size() : s.size();
  const S g = static_cast<S>(gains.model), factor = static_cast<S>(gains.flow);
  for (std::size_t start = 0; start < range.count; start += kSliceTile) {
    const std::size_t size = std::min(kSliceTile, range.count - start), at = range.first + start;
    const std::span<const S> a = plus.next(std::span(more_scratch).first(size));
    const std::span<const S> b = minus.next(std::span(less_scratch).first(size));
    S* const to = s.data() + at;
    if (g == S{1})
      for (std::size_t k = 0; k < size; ++k) to[k] = a[k] + (to[k] - b[k]);
    else
      for (std::size_t k = 0; k < size; ++k) to[k] += g * (a[k] - b[k]);
    if (at + size <= counted) continue;
    for (std::size_t k = counted > at ? counted - at : 0; k < size; ++k)
      count->flow[at + k - counted] += factor * (a[k] - b[k]);
  }
}

template <class S>
typename Slices<S>::Taken Slices<S>::take(const MixTerm& term, std::span<S> s, const Count* count) {
  const bool are_parts = term.pair % 2 == 1;
  Parts* const parts = find(term.edge, are_parts ? term.pair : term.pair - 1);
  if (!parts || term.theirs.size() < sizeof(Word)) return {.is_sound = false};
  if (are_parts) {
    parts->own = term.own;
    parts->theirs = term.theirs;
    parts->has_come = true;
    parts->span = term.span;
    return {};
  }
  const Parts taken = std::move(*parts);
  std::map<std::uint64_t, Parts>& on_edge = edges_.at(term.edge);
  on_edge.erase(on_edge.begin(), on_edge.find(term.pair + 1));
  if (!taken.has_come) return {.is_sound = false};
  const Slot& slot = taken.slot;
  const Range own = slice(slot, slot.own), theirs = slice(slot, slot.theirs);
  const double nodes = static_cast<double>(slot.nodes), gain = term.weight * nodes;
  const double factor = count ? count->factor * nodes : 0;
  if (term.weight > 0 && word_of(term.own) == kMean)
    add(own, taken.theirs, term.own, {gain, factor}, s, count);
  if (word_of(term.theirs) != kMean) return {.distance = taken.distance};
  // One that is not finite is no mean of an honest peer's, who has counted nothing then.
  std::array<S, kSliceTile> scratch;
  bool is_sound = holds(term.theirs, theirs);
  if (is_sound) {
    VectorReader<S> reader = reader_of<S>(*format_, term.theirs);
    for (std::size_t start = 0; start < theirs.count && is_sound; start += kSliceTile)
      is_sound = std::isfinite(squared_norm(
          reader.next(std::span(scratch).first(std::min(kSliceTile, theirs.count - start)))));
  }
  if (is_sound && term.weight > 0) add(theirs, term.theirs, taken.own, {gain, factor}, s, count);
  return {.distance = taken.distance, .is_sound = is_sound};
}

template <class S>
double Slices<S>::span_of(const MixTerm& term) const {
  if (term.pair % 2 == 1) return 0;
  const auto on_edge = edges_.find(term.edge);
  if (on_edge == edges_.end()) return 0;
  const auto found = on_edge->second.find(term.pair - 1);
  return found == on_edge->second.end() ? 0 : found->second.span;
}

template class Slices<float>;
template class Slices<double>;

}  // namespace starling::optim
