#include "optim/combine/mixer.h"

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

// Numbers of x, own and theirs that lie in the first-level cache together with what comes next.
constexpr std::size_t kMixTile = 1024;
static_assert(kMixTile <= kTile);

// A term, and the vector that theirs is averaged with; null: the one sent last.
struct Pair {
  const MixTerm* term;
  const Payload* earlier;
};

// Whether both share the same bytes, not only equal ones.
bool is_same(const Payload& a, const Payload& b) {
  return std::ranges::equal(a.pieces(), b.pieces(), [](const auto& one, const auto& other) {
    return one.bytes.data() == other.bytes.data() && one.bytes.size() == other.bytes.size();
  });
}

Pair pair_of(const MixTerm& term, const Payload& sent) {
  return {&term, is_same(term.own, sent) ? nullptr : &term.own};
}

// One pass with the given pairs, from x to `out`; returns ||theirs_j - s||^2 of each, not finite
// where a number of the pair is not. `sent` is null where x itself is what was sent. A pair with an
// earlier vector pulls twice,
//   w (theirs - earlier) = w (theirs - s) - w (earlier - s) .
// REQUIRES pairs.
template <class S>
std::vector<double> pass(std::span<const S> x, const Payload* sent, const std::vector<Pair>& pairs,
                         const Format& format, std::span<S> out) {
  std::vector<VectorReader<S>> readers;
  PullSources<S> from;
  for (const auto& [term, earlier] : pairs) {
    readers.emplace_back(format, term->theirs);
    from.weights.push_back(static_cast<S>(term->weight));
  }
  for (const auto& [term, earlier] : pairs) {
    if (!earlier) continue;
    readers.emplace_back(format, *earlier);
    from.weights.push_back(static_cast<S>(-term->weight));
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

// Drops the pairs with a number that is not finite; returns how many.
std::size_t drop_not_finite(std::vector<Pair>& pairs, const std::vector<double>& squared,
                            std::vector<Rejection>& rejections) {
  std::vector<Pair> kept;
  for (std::size_t j = 0; j < pairs.size(); ++j) {
    if (std::isfinite(squared[j]))
      kept.push_back(pairs[j]);
    else
      rejections.push_back({pairs[j].term->peer, "not finite"});
  }
  std::swap(pairs, kept);
  return kept.size() - pairs.size();
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
              const Format& format, std::shared_ptr<std::byte> room) {
  ENSURE(fits(format, sent, x.size()), "what was sent has the size of the model");
  MixResult result;
  std::vector<Pair> sound;
  for (const MixTerm& term : terms) {
    if (fits(format, term.theirs, x.size()) && fits(format, term.own, x.size()))
      sound.push_back(pair_of(term, sent));
    else
      result.rejections.push_back({term.peer, "size"});
  }
  const Payload* own = x.is_shown_by(sent) ? nullptr : &sent;
  std::vector<double> squared;
  // Mixes again, in rare cases, without the neighbours whose numbers are not finite.
  bool is_mixed = false;
  while (!sound.empty() && !is_mixed)
    is_mixed = x.replace(
        [&](std::span<const S> from, std::span<S> to) {
          squared = pass(from, own, sound, format, to);
          return drop_not_finite(sound, squared, result.rejections) == 0;
        },
        std::exchange(room, nullptr));
  if (sound.empty() && !result.rejections.empty() && !is_finite<S>(sent, x.size(), format))
    for (Rejection& rejection : result.rejections) rejection.reason = "own vector not finite";
  for (std::size_t j = 0; j < sound.size(); ++j) {
    result.distances.push_back({sound[j].term->peer, std::sqrt(squared[j])});
    result.mixed.push_back(static_cast<std::size_t>(sound[j].term - terms.data()));
  }
  return result;
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

template void accumulate(std::span<float>, std::size_t, const MixTerm&, const Format&);
template void accumulate(std::span<double>, std::size_t, const MixTerm&, const Format&);
template MixResult mix(SharedVector<float>&, const Payload&, std::span<const MixTerm>,
                       const Format&, std::shared_ptr<std::byte>);
template MixResult mix(SharedVector<double>&, const Payload&, std::span<const MixTerm>,
                       const Format&, std::shared_ptr<std::byte>);

}  // namespace starling::optim
