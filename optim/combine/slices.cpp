#include "optim/combine/slices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/prng.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// The word that begins a message keeps the numbers after it aligned. In a part it is a hash of what
// both ends must count alike (count_hash); in a mean it says whether there is one.
using Word = std::uint64_t;
constexpr Word kNoMean = 0, kMean = 1;
// With masks: the word of a part without numbers, and the bit of a mean, beside those of its span.
constexpr Word kNoPart = 0, kMaskedMean = Word{1} << 63;

constexpr std::size_t kSliceTile = 1024;

// The hash in a part that the node of place `from` sends to the hub of place `to`.
Word count_hash(const Slot& slot, std::size_t from, std::size_t to) {
  Word hash = mix64(slot.round);
  for (const std::size_t item : {slot.nodes, slot.hubs, from, to}) hash = mix64(hash ^ item);
  return hash;
}

std::uint64_t life_of(const MaskGroup& group, std::uint64_t era) {
  return mix64(group.word() ^ mix64(era));
}

template <class S>
Word masked_hash(const Slot& slot, const MaskedRound<S>& given, std::size_t from, std::size_t to) {
  return mix64(count_hash(slot, from, to) ^ life_of(*given.group, given.era));
}

// A message of the word and `bytes` bytes that `write` fills in, in a buffer of `most` bytes.
template <class Write>
Payload message_of(Word word, std::size_t bytes, std::size_t most, BufferPool& pool, Write write) {
  auto buffer = pool.take(most);
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

double span_of_word(Word word) {
  return std::bit_cast<double>(word & ~kMaskedMean);
}

// Reads the numbers after the word.
template <class S>
VectorReader<S> reader_of(const Format& format, const Payload& message) {
  VectorReader<S> reader(format, message);
  reader.skip(sizeof(Word) / format.width);
  return reader;
}

// The entry; null: there is none.
template <class Edges>
auto find_in(Edges& edges, std::uint64_t edge, std::uint64_t number)
    -> decltype(&edges.begin()->second.begin()->second) {
  const auto on_edge = edges.find(edge);
  if (on_edge == edges.end()) return nullptr;
  const auto found = on_edge->second.find(number);
  return found == on_edge->second.end() ? nullptr : &found->second;
}

}  // namespace

template <class S>
Slices<S>::Slices(const Format& format, const Slicing& slicing, std::size_t size)
    : format_(&format), size_(size), share_(slicing.share) {
  if (slicing.is_masked) masked_.emplace(slicing.masks);
}

template <class S>
std::size_t Slices<S>::bytes(std::size_t count) const {
  return sizeof(Word) +
         (masked_ ? MaskedParts<S>::bytes(count) : optim::bytes_limit(*format_, count));
}

// Only one end may have counted the pair of a part that was sent over an edge that ends.
template <class S>
std::vector<std::uint64_t> Slices<S>::keep(const EdgeIds& ids) {
  bool is_lost = false;
  const std::vector<std::uint64_t> edges = ids.all();
  std::erase_if(edges_, [&](const auto& item) {
    if (std::ranges::find(edges, item.first) != edges.end()) return false;
    for (const auto& [number, parts] : item.second) is_lost = is_lost || parts.given != nullptr;
    return true;
  });
  if (masked_) masked_->follow(ids.mask_group);
  if (masked_ && is_lost) masked_->lose();
  return counted(ids.open);
}

template <class S>
typename Slices<S>::Range Slices<S>::slice(const Slot& slot, std::size_t place) const {
  if (place >= slot.hubs) return {};
  const std::size_t turn = (place + slot.round) % slot.hubs;
  const std::size_t first = turn * size_ / slot.hubs;
  return {first, (turn + 1) * size_ / slot.hubs - first};
}

// The same for parts and means, so that the pool can reuse buffers of one for the other.
template <class S>
std::size_t Slices<S>::most_bytes(const Slot& slot) const {
  return bytes(size_ / std::max<std::size_t>(slot.hubs, 1) + 1);
}

template <class S>
bool Slices<S>::holds(const Payload& message, Range range) const {
  return fits(*format_, message, sizeof(Word) / format_->width + range.count);
}

template <class S>
bool Slices<S>::holds_part(const Payload& message, Range range) const {
  if (!masked_) return holds(message, range);
  return message.size() == bytes(range.count);
}

template <class S>
bool Slices<S>::is_mean(const Payload& message) const {
  if (message.size() < sizeof(Word)) return false;
  const Word word = word_of(message);
  if (!masked_) return word == kMean;
  return (word & kMaskedMean) != 0 && std::isfinite(span_of_word(word));
}

// ---------------------------------------------------------------- messages

template <class S>
Payload Slices<S>::part(const Slot& slot, std::span<const S> s, BufferPool& pool) const {
  const auto [first, count] = slice(slot, slot.theirs);
  return message_of(
      count_hash(slot, slot.own, slot.theirs), count * format_->width, most_bytes(slot), pool,
      [&](std::byte* wire) { write_numbers(*format_, s.subspan(first, count), wire); });
}

// Only members of the group get numbers: only they share masks.
template <class S>
Payload Slices<S>::masked_part(const Parts& parts, BufferPool& pool) {
  const Slot& slot = parts.slot;
  if (!parts.given) return word_alone(kNoPart);
  const auto [first, count] = slice(slot, slot.theirs);
  return message_of(masked_hash(slot, *parts.given, slot.own, slot.theirs),
                    MaskedParts<S>::bytes(count), most_bytes(slot), pool, [&](std::byte* wire) {
                      masked_->write(*parts.given, slot.peer, first, count, wire);
                    });
}

template <class S>
Offer Slices<S>::offer(std::span<const EdgePlace> to, SharedVector<S>& s) {
  return {.of_edge = messages(to, s, wire_), .problem = problem()};
}

template <class S>
std::vector<EdgeOffer> Slices<S>::messages(std::span<const EdgePlace> to, std::span<const S> s,
                                           BufferPool& pool) {
  std::vector<EdgeOffer> offers(to.size());
  std::vector<EdgeOffer*> means;
  const auto is_part = [](const EdgePlace& place) { return place.number % 2 == 1; };
  std::shared_ptr<const MaskedRound<S>> given;
  if (const auto first = std::ranges::find_if(to, is_part); masked_ && first != to.end())
    given = masked_->begin(first->slot.round, s);
  for (std::size_t k = 0; k < to.size(); ++k) {
    const Slot& slot = to[k].slot;
    offers[k] = {.edge = to[k].edge, .payload = {}, .number = to[k].number};
    if (!is_part(to[k])) {
      means.push_back(&offers[k]);
      continue;
    }
    Parts& parts = edges_[to[k].edge][to[k].number];
    parts = {.slot = slot};
    if (given && given->group->find(slot.peer)) parts.given = given;
    offers[k].payload = masked_ ? masked_part(parts, pool) : part(slot, s, pool);
  }
  if (!means.empty()) offer_means(means, to.front().slot.round, s, pool);
  return offers;
}

template <class S>
bool Slices<S>::counts_alike(const Parts& parts) const {
  const Slot& slot = parts.slot;
  if (!parts.has_come || !holds_part(parts.theirs, slice(slot, slot.own))) return false;
  const Word word = word_of(parts.theirs);
  if (!masked_) return word == count_hash(slot, slot.theirs, slot.own);
  return parts.given && word == masked_hash(slot, *parts.given, slot.theirs, slot.own);
}

// Parts keep the slot they were sent under, so a round is cut alike even if members change during
// it. In rare cases the mean is computed again without parts whose numbers are not finite.
template <class S>
void Slices<S>::offer_means(std::span<EdgeOffer*> offers, std::uint64_t round, std::span<const S> s,
                            BufferPool& pool) {
  std::vector<Source> from;
  for (EdgeOffer* offer : offers) {
    offer->payload = word_alone(kNoMean);
    Parts* parts = find_in(edges_, offer->edge, offer->number - 1);
    if (parts && parts->slot.round == round && counts_alike(*parts)) from.push_back({offer, parts});
  }
  while (!from.empty()) {
    const Payload message = masked_ ? masked_mean(from, s, pool) : mean(from, s, pool);
    const auto is_lost = [](const Source& source) { return !std::isfinite(source.squared); };
    if (message.empty()) return;
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

// The mean of this node's slice. Sets Source::squared.
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

// Empty unless each other member's part has arrived and the masks have cancelled. All parts in
// `from` are of one group, each of another node.
template <class S>
Payload Slices<S>::masked_mean(std::span<Source> from, std::span<const S> s,
                               BufferPool& pool) const {
  const Slot& slot = from.front().parts->slot;
  const std::size_t members = from.front().parts->given->group->members().size();
  if (from.size() + 1 != members) return {};
  const auto [first, count] = slice(slot, slot.own);
  std::vector<const Payload*> parts;
  double span = 0;
  for (const Source& source : from) {
    parts.push_back(&source.parts->theirs);
    span = std::max(span, source.parts->span);
  }
  const auto sums = sum_of_parts(parts, sizeof(Word), count);
  if (!sums) return {};
  const double n = static_cast<double>(members);
  double squared = 0;
  auto lack = std::make_shared<std::vector<S>>(count);
  for (std::size_t k = 0; k < count; ++k) {
    const double own = static_cast<double>(s[first + k]), mean = ((*sums)[k] + own) / n;
    squared += (mean - own) * (mean - own);
    (*lack)[k] = static_cast<S>(mean);
  }
  const Word word = kMaskedMean | std::bit_cast<Word>(span);
  Payload message = message_of(
      word, count * format_->width, most_bytes(slot), pool,
      [&](std::byte* wire) { write_numbers<S>(*format_, std::span<const S>(*lack), wire); });
  // Subtracts the mean as the others decode it, not the exact one.
  std::vector<S> scratch(count);
  const std::span<const S> told = reader_of<S>(*format_, message).next(scratch);
  for (std::size_t k = 0; k < count; ++k)
    (*lack)[k] = static_cast<S>((*sums)[k] / (n - 1) - static_cast<double>(told[k]));
  for (Source& source : from) {
    source.squared = 2 * n / (n - 1) * squared;
    source.parts->lack = lack;
  }
  return message;
}

// ---------------------------------------------------------------- pairs

// s += gains.model (more - less), and the flow += gains.flow (more - less). If s is `less` and the
// gain 1, s becomes `more` to the last bit. A missing `less` is 0.
template <class S>
void Slices<S>::add(Range range, Numbers more, std::optional<Numbers> less, Gains gains,
                    std::span<S> s, const std::optional<Count>& count) const {
  std::array<S, kSliceTile> more_scratch, less_scratch{};
  const std::size_t counted = count ? s.size() - count->flow.size() : s.size();
  const S g = static_cast<S>(gains.model), factor = static_cast<S>(gains.flow);
  for (std::size_t start = 0; start < range.count; start += kSliceTile) {
    const std::size_t size = std::min(kSliceTile, range.count - start), at = range.first + start;
    const std::span<S> room = std::span(less_scratch).first(size);
    const std::span<const S> a = more.next(std::span(more_scratch).first(size));
    const std::span<const S> b = less ? less->next(room) : room;
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

// Moves this hub's slice by (part received - mean sent), with masks by D.
template <class S>
void Slices<S>::add_own(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
                        const std::optional<Count>& count) const {
  const Range range = slice(taken.slot, taken.slot.own);
  if (!masked_) {
    const Numbers theirs = reader_of<S>(*format_, taken.theirs);
    return add(range, theirs, reader_of<S>(*format_, term.own), gains, s, count);
  }
  if (!taken.lack) return;
  const Payload lack(taken.lack, std::as_bytes(std::span(*taken.lack)));
  add(range, Numbers(native(), lack), std::nullopt, gains, s, count);
}

template <class S>
void Slices<S>::add_theirs(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
                           const std::optional<Count>& count) const {
  const Range range = slice(taken.slot, taken.slot.theirs);
  const Numbers mean = reader_of<S>(*format_, term.theirs);
  if (!masked_) return add(range, mean, reader_of<S>(*format_, taken.own), gains, s, count);
  const std::span<const S> given =
      std::span(taken.given->numbers).subspan(range.first, range.count);
  const Payload own(taken.given, std::as_bytes(given));
  add(range, mean, Numbers(native(), own), gains, s, count);
}

template <class S>
const Format& Slices<S>::native() {
  return *format_named(sizeof(S) == sizeof(float) ? "f32" : "f64");
}

// An honest hub sends no mean that is not finite, and then counts nothing.
template <class S>
bool Slices<S>::is_finite_mean(const Payload& message, Range range) const {
  if (!holds(message, range)) return false;
  std::array<S, kSliceTile> scratch;
  VectorReader<S> reader = reader_of<S>(*format_, message);
  for (std::size_t start = 0; start < range.count; start += kSliceTile) {
    const std::span<S> room = std::span(scratch).first(std::min(kSliceTile, range.count - start));
    if (!std::isfinite(squared_norm(reader.next(room)))) return false;
  }
  return true;
}

template <class S>
void Slices<S>::take_part(const MixTerm& term, Parts& parts) {
  parts.theirs = term.theirs;
  parts.has_come = true;
  parts.span = term.span;
  if (!masked_)
    parts.own = term.own;
  else if (holds_part(parts.theirs, slice(parts.slot, parts.slot.own)))
    masked_->hear(era_of(parts.theirs, sizeof(Word)));
}

template <class S>
MixResult Slices<S>::absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                            SharedVector<S>& s) {
  MixResult result;
  for (std::size_t place = 0; place < terms.size(); ++place) {
    const NodeId peer = terms[place].peer;
    const Taken taken = take(terms[place], counts, s.edit());
    if (!taken.is_sound) result.rejections.push_back({peer, "encoding"});
    if (!taken.distance) continue;
    result.distances.push_back({peer, *taken.distance});
    result.mixed.push_back(place);
  }
  return result;
}

template <class S>
typename Slices<S>::Taken Slices<S>::take(const MixTerm& term, const FlowCounts<S>& counts,
                                          std::span<S> s) {
  const bool are_parts = term.number % 2 == 1;
  Parts* const parts = find_in(edges_, term.edge, are_parts ? term.number : term.number - 1);
  if (!parts || term.theirs.size() < sizeof(Word)) return {.is_sound = false};
  if (are_parts) {
    take_part(term, *parts);
    return {};
  }
  const Parts taken = std::move(*parts);
  std::map<std::uint64_t, Parts>& on_edge = edges_.at(term.edge);
  on_edge.erase(on_edge.begin(), on_edge.find(term.number + 1));
  return taken.has_come ? take_means(term, taken, counts, s) : Taken{.is_sound = false};
}

template <class S>
typename Slices<S>::Taken Slices<S>::take_means(const MixTerm& term, const Parts& taken,
                                                const FlowCounts<S>& counts, std::span<S> s) {
  const double nodes = static_cast<double>(taken.slot.nodes),
               gain = share(term, taken.slot) * nodes;
  const auto own = count(term, taken, term.own, counts);
  const auto theirs = count(term, taken, term.theirs, counts);
  const auto gains = [&](const std::optional<Count>& count) -> Gains {
    return {gain, count ? count->factor * nodes : 0};
  };
  const bool gave = is_mean(term.own), gets = is_mean(term.theirs);
  if (masked_ && (gave || gets) && !(gain > 0)) masked_->lose();
  if (gave && gain > 0) add_own(taken, term, gains(own), s, own);
  if (!gets) return {.distance = taken.distance};
  const bool is_sound = (!masked_ || taken.given) &&
                        is_finite_mean(term.theirs, slice(taken.slot, taken.slot.theirs));
  if (is_sound && gain > 0) add_theirs(taken, term, gains(theirs), s, theirs);
  return {.distance = taken.distance, .is_sound = is_sound};
}

// The flow that counts one mean of a pair of means. With masks the span of a missing mean is 0.
template <class S>
std::optional<FlowCount<S>> Slices<S>::count(const MixTerm& term, const Parts& taken,
                                             const Payload& mean,
                                             const FlowCounts<S>& counts) const {
  if (!counts || (masked_ && !taken.given)) return std::nullopt;
  MixTerm counted = {.peer = term.peer, .weight = share(term, taken.slot), .theirs = {}};
  counted.edge = masked_ ? life_of(*taken.given->group, taken.given->era) : term.edge;
  if (!masked_)
    counted.span = taken.span;
  else if (is_mean(mean))
    counted.span = span_of_word(word_of(mean));
  return counts(counted);
}

template <class S>
std::vector<std::uint64_t> Slices<S>::counted(std::span<const std::uint64_t> edges) const {
  if (!masked_) return {edges.begin(), edges.end()};
  const auto group = masked_->group();
  if (!group) return {};
  return {life_of(*group, masked_->era())};
}

// Both ends leave out a pair of weight 0.
template <class S>
double Slices<S>::share(const MixTerm& term, const Slot& slot) const {
  if (!masked_ || !(term.weight > 0)) return term.weight;
  return share_ / static_cast<double>(slot.nodes);
}

template class Slices<float>;
template class Slices<double>;

}  // namespace starling::optim
