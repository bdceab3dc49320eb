#include "optim/combine/mixer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "base/stream_copy.h"
#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

// Tiles of x, own and theirs fit into the first-level cache together with the tiles read next.
constexpr std::size_t kMixTile = 1024;
static_assert(kMixTile <= kTile);

// A term, and the own vector that theirs is averaged with; null: the one sent last.
struct Pair {
  const MixTerm* term;
  const Payload* earlier;
  double distance = 0;  // of the two vectors of the pair
  double factor = 1;    // on its weight
};

// Whether both payloads are the same memory; equal bytes are not enough.
bool is_same(const Payload& a, const Payload& b) {
  return std::ranges::equal(a.pieces(), b.pieces(), [](const auto& one, const auto& other) {
    return one.bytes.data() == other.bytes.data() && one.bytes.size() == other.bytes.size();
  });
}

Pair pair_of(const MixTerm& term, const Payload& sent) {
  return {.term = &term, .earlier = is_same(term.own, sent) ? nullptr : &term.own};
}

std::vector<Pair> fitting_pairs(std::span<const MixTerm> terms, const Payload& sent,
                                std::size_t size, const Format& format,
                                std::vector<Rejection>& rejections) {
  std::vector<Pair> pairs;
  for (const MixTerm& term : terms) {
    if (fits(format, term.theirs, size) && fits(format, term.own, size))
      pairs.push_back(pair_of(term, sent));
    else
      rejections.push_back({term.peer, "size"});
  }
  return pairs;
}

// One pass over memory with the given pairs, from x to `out`. Returns ||theirs_j - s||^2 of each,
// not finite if a number of the pair is not. `sent` is null if x itself was sent. A pair with an
// earlier vector pulls twice,
//   w (theirs - earlier) = w (theirs - s) - w (earlier - s) .
// REQUIRES pairs.
template <class S>
std::vector<double> pass(std::span<const S> x, const Payload* sent, const std::vector<Pair>& pairs,
                         const Format& format, std::span<S> out) {
  std::vector<VectorReader<S>> readers;
  PullSources<S> from;
  for (const Pair& pair : pairs) {
    readers.emplace_back(format, pair.term->theirs);
    from.weights.push_back(static_cast<S>(pair.term->weight * pair.factor));
  }
  for (const Pair& pair : pairs) {
    if (!pair.earlier) continue;
    readers.emplace_back(format, *pair.earlier);
    from.weights.push_back(static_cast<S>(-pair.term->weight * pair.factor));
  }
  const std::size_t count = readers.size();
  std::vector<double> squared(count);
  from.theirs.resize(count);
  if (PLANTED(weight_twice) && count > 0) from.weights.front() *= 2;
  std::optional<VectorReader<S>> own_reader;
  if (sent) own_reader.emplace(format, *sent);
  std::vector<S> scratch((count + 1) * kMixTile);
  const bool is_large = out.size_bytes() >= kStreamedBytes;
  for (std::size_t start = 0; start < x.size(); start += kMixTile) {
    const std::size_t size = std::min(kMixTile, x.size() - start);
    const auto read = [&](VectorReader<S>& reader, std::size_t place) -> std::span<const S> {
      return reader.next(std::span(scratch).subspan(place * kMixTile, size));
    };
    from.x = x.subspan(start, size);
    from.own = own_reader ? read(*own_reader, count) : from.x;
    for (std::size_t j = 0; j < count; ++j) from.theirs[j] = read(readers[j], j);
    const std::span<S> to = out.subspan(start, size);
    for (std::size_t first = 0; first < count; first += kPullLimit) {
      pull(from, first, std::min(kPullLimit, count - first), to, is_large && count <= kPullLimit,
           squared);
      from.x = to;
    }
  }
  std::size_t of_earlier = pairs.size();
  for (std::size_t j = 0; j < pairs.size(); ++j)
    if (pairs[j].earlier && !std::isfinite(squared[of_earlier++])) squared[j] = INFINITY;
  squared.resize(pairs.size());
  return squared;
}

// Removes the pairs with a number that is not finite; returns how many.
std::size_t drop_not_finite(std::vector<Pair>& pairs, const std::vector<double>& squared,
                            std::vector<Rejection>& rejections) {
  std::vector<Pair> kept;
  for (std::size_t j = 0; j < pairs.size(); ++j) {
    if (std::isfinite(squared[j]) || PLANTED(nan_averaged))
      kept.push_back(pairs[j]);
    else
      rejections.push_back({pairs[j].term->peer, "not finite"});
  }
  std::swap(pairs, kept);
  return kept.size() - pairs.size();
}

// Sets the distance and factor of each pair; `squared` is ||theirs_j - s||^2 of each. Returns
// whether a factor has changed.
template <class S>
bool shorten_pairs(std::vector<Pair>& pairs, const std::vector<double>& squared, std::size_t size,
                   const Format& format, const Shorten& shorten) {
  std::vector<Apart> apart;
  for (std::size_t j = 0; j < pairs.size(); ++j) {
    Pair& pair = pairs[j];
    pair.distance = std::sqrt(
        pair.earlier && shorten ? squared_between<S>(pair.term->theirs, *pair.earlier, size, format)
                                : squared[j]);
    apart.push_back({pair.term, pair.distance});
  }
  bool has_changed = false;
  const std::vector<double> factors =
      shorten ? shorten(apart) : std::vector<double>(pairs.size(), 1);
  for (std::size_t j = 0; j < pairs.size(); ++j) {
    has_changed = has_changed || factors[j] != pairs[j].factor;
    pairs[j].factor = factors[j];
  }
  return has_changed;
}

// to = x + factor (to - x): the average with one neighbour, shortened afterwards.
template <class S>
void pull_back(std::span<const S> x, S factor, std::span<S> to) {
  for (std::size_t k = 0; k < x.size(); ++k) to[k] = x[k] + factor * (to[k] - x[k]);
}

// Whether every number that was sent is finite.
template <class S>
bool is_finite(const Payload& sent, std::size_t size, const Format& format) {
  VectorReader<S> reader(format, sent);
  std::array<S, kMixTile> scratch;
  for (std::size_t start = 0; start < size; start += kMixTile)
    if (!std::isfinite(
            squared_norm(reader.next(std::span(scratch).first(std::min(kMixTile, size - start))))))
      return false;
  return true;
}

}  // namespace

template <class S>
MixResult mix(SharedVector<S>& x, const Payload& sent, std::span<const MixTerm> terms,
              const Format& format, const Shorten& shorten, std::shared_ptr<std::byte> room) {
  ENSURE(fits(format, sent, x.size()), "what was sent has the size of the model");
  MixResult result;
  std::vector<Pair> sound = fitting_pairs(terms, sent, x.size(), format, result.rejections);
  const Payload* own = x.is_shown_by(sent) ? nullptr : &sent;
  // shorten_pairs() still reads `theirs` for the distance to an earlier vector.
  if (std::ranges::any_of(sound, [](const Pair& pair) { return pair.earlier != nullptr; }))
    room.reset();
  // Repeats the pass if a pair was removed as not finite, and once if `shorten` changed a factor.
  bool is_mixed = false, is_measured = false;
  while (!sound.empty() && !is_mixed) {
    const bool is_in_place = room != nullptr;
    is_mixed = x.replace(
        [&](std::span<const S> from, std::span<S> to) {
          const std::vector<double> squared = pass(from, own, sound, format, to);
          if (drop_not_finite(sound, squared, result.rejections) > 0) return false;
          if (std::exchange(is_measured, true)) return true;
          if (!shorten_pairs<S>(sound, squared, from.size(), format, shorten)) return true;
          if (is_in_place) pull_back(from, static_cast<S>(sound.front().factor), to);
          return is_in_place;
        },
        std::exchange(room, nullptr));
  }
  if (sound.empty() && !result.rejections.empty() && !is_finite<S>(sent, x.size(), format))
    for (Rejection& rejection : result.rejections) rejection.reason = "own vector not finite";
  for (const Pair& pair : sound) {
    result.distances.push_back({pair.term->peer, pair.distance});
    result.mixed.push_back(static_cast<std::size_t>(pair.term - terms.data()));
    result.factors.push_back(pair.factor);
  }
  return result;
}

template <class S>
double squared_between(const Payload& a, const Payload& b, std::size_t size, const Format& format) {
  VectorReader<S> a_reader(format, a), b_reader(format, b);
  std::array<S, kMixTile> a_scratch, b_scratch;
  double squared = 0;
  for (std::size_t start = 0; start < size; start += kMixTile) {
    const std::size_t count = std::min(kMixTile, size - start);
    squared += squared_distance(a_reader.next(std::span(a_scratch).first(count)),
                                b_reader.next(std::span(b_scratch).first(count)));
  }
  return squared;
}

template <class S>
void accumulate(std::span<S> flow, std::size_t first, const MixTerm& term, const Format& format) {
  std::array<S, kMixTile> own_scratch, scratch;
  VectorReader<S> own_reader(format, term.own), reader(format, term.theirs);
  own_reader.skip(first);
  reader.skip(first);
  const S weight = static_cast<S>(term.weight);
  for (std::size_t start = 0; start < flow.size(); start += kMixTile) {
    const std::size_t size = std::min(kMixTile, flow.size() - start);
    const std::span<const S> own = own_reader.next(std::span(own_scratch).first(size));
    const std::span<const S> theirs = reader.next(std::span(scratch).first(size));
    for (std::size_t k = 0; k < size; ++k) flow[start + k] += weight * (theirs[k] - own[k]);
  }
}

template double squared_between<float>(const Payload&, const Payload&, std::size_t, const Format&);
template double squared_between<double>(const Payload&, const Payload&, std::size_t, const Format&);
template void accumulate(std::span<float>, std::size_t, const MixTerm&, const Format&);
template void accumulate(std::span<double>, std::size_t, const MixTerm&, const Format&);
template MixResult mix(SharedVector<float>&, const Payload&, std::span<const MixTerm>,
                       const Format&, const Shorten&, std::shared_ptr<std::byte>);
template MixResult mix(SharedVector<double>&, const Payload&, std::span<const MixTerm>,
                       const Format&, const Shorten&, std::shared_ptr<std::byte>);

}  // namespace starling::optim
