#include "optim/mixer.h"

#include <array>
#include <cmath>

#include "base/check.h"
#include "optim/kernels.h"

namespace starling::optim {
namespace {

// Numbers of x, own and theirs that lie in the first-level cache together with what comes next.
constexpr std::size_t kMixTile = 1024;
static_assert(kMixTile <= kTile);

// One pass with the given terms; returns ||theirs_j - s||^2 of each.
template <class S>
std::vector<double> pass(std::span<S> x, const Payload& sent,
                         const std::vector<const MixTerm*>& terms, Codec codec) {
  std::vector<double> squared(terms.size());
  std::vector<VectorReader<S>> readers;
  for (const MixTerm* term : terms) readers.emplace_back(codec, term->theirs);
  VectorReader<S> own_reader(codec, sent);
  alignas(64) std::array<S, kMixTile> own_scratch;
  alignas(64) std::array<S, kMixTile> scratch;
  for (std::size_t start = 0; start < x.size(); start += kMixTile) {
    const std::span<S> tile = x.subspan(start, std::min(kMixTile, x.size() - start));
    const auto own = own_reader.next(std::span(own_scratch).first(tile.size()));
    for (std::size_t j = 0; j < terms.size(); ++j) {
      const auto theirs = readers[j].next(std::span(scratch).first(tile.size()));
      squared[j] += pull(tile, own, theirs, static_cast<S>(terms[j]->weight));
    }
  }
  return squared;
}

}  // namespace

template <class S>
MixResult mix(std::span<S> x, const Payload& sent, std::span<const MixTerm> terms, Codec codec) {
  ENSURE(is_vector(codec, sent, x.size()), "what was sent has the size of the model");
  MixResult result;
  std::vector<const MixTerm*> sound;
  for (const MixTerm& term : terms) {
    if (is_vector(codec, term.theirs, x.size()))
      sound.push_back(&term);
    else
      result.rejections.push_back({term.peer, "size"});
  }
  if (sound.empty()) return result;
  std::vector<double> squared = pass(x, sent, sound, codec);

  // Rare: somebody sent numbers that are not finite. Start again from what was sent, without them.
  while (true) {
    std::vector<const MixTerm*> finite;
    for (std::size_t j = 0; j < sound.size(); ++j) {
      if (std::isfinite(squared[j]))
        finite.push_back(sound[j]);
      else
        result.rejections.push_back({sound[j]->peer, "not finite"});
    }
    if (finite.size() == sound.size()) break;
    sound = std::move(finite);
    decode(codec, sent, 0, x);
    squared = pass(x, sent, sound, codec);
  }
  for (std::size_t j = 0; j < sound.size(); ++j)
    result.distances.push_back({sound[j]->peer, std::sqrt(squared[j])});
  return result;
}

template MixResult mix(std::span<float>, const Payload&, std::span<const MixTerm>, Codec);
template MixResult mix(std::span<double>, const Payload&, std::span<const MixTerm>, Codec);

}  // namespace starling::optim
