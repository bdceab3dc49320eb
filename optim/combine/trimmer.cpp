#include "optim/combine/trimmer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace starling::optim {
namespace {

constexpr std::size_t kTrimTile = 1024;

template <class S>
struct Pull {
  S difference, weight;
};

// The weighted sum without the `liars` smallest and largest differences. Reorders the pulls.
template <class S>
S trimmed_sum(std::span<Pull<S>> pulls, std::size_t liars) {
  std::ranges::sort(pulls, {}, &Pull<S>::difference);
  S sum = 0;
  for (std::size_t j = liars; j + liars < pulls.size(); ++j)
    sum += pulls[j].weight * pulls[j].difference;
  return sum;
}

}  // namespace

template <class S>
MixResult trim(std::span<S> x, std::span<const MixTerm> terms, const Format& format,
               std::size_t liars) {
  MixResult result;
  for (std::size_t place = 0; place < terms.size(); ++place) {
    const MixTerm& term = terms[place];
    const bool fits_both = fits(format, term.theirs, x.size()) && fits(format, term.own, x.size());
    const double distance =
        fits_both ? std::sqrt(squared_between<S>(term.theirs, term.own, x.size(), format)) : 0;
    if (!fits_both || !std::isfinite(distance)) {
      result.rejections.push_back({term.peer, fits_both ? "not finite" : "size"});
      continue;
    }
    result.distances.push_back({term.peer, distance});
    result.mixed.push_back(place);
    result.factors.push_back(1);
  }
  std::vector<VectorReader<S>> own_readers, readers;
  for (const std::size_t place : result.mixed) {
    own_readers.emplace_back(format, terms[place].own);
    readers.emplace_back(format, terms[place].theirs);
  }
  const std::size_t columns = readers.size() + 1;  // the last one is this node's: 0
  std::vector<Pull<S>> pulls(kTrimTile * columns);
  std::array<S, kTrimTile> own_scratch, scratch;
  for (std::size_t start = 0; start < x.size(); start += kTrimTile) {
    const std::size_t count = std::min(kTrimTile, x.size() - start);
    for (std::size_t j = 0; j + 1 < columns; ++j) {
      const auto weight = static_cast<S>(terms[result.mixed[j]].weight);
      const std::span<const S> own = own_readers[j].next(std::span(own_scratch).first(count));
      const std::span<const S> theirs = readers[j].next(std::span(scratch).first(count));
      for (std::size_t k = 0; k < count; ++k) pulls[k * columns + j] = {theirs[k] - own[k], weight};
    }
    for (std::size_t k = 0; k < count; ++k) {
      pulls[k * columns + columns - 1] = {0, 0};
      x[start + k] += trimmed_sum(std::span(pulls).subspan(k * columns, columns), liars);
    }
  }
  return result;
}

template MixResult trim(std::span<float>, std::span<const MixTerm>, const Format&, std::size_t);
template MixResult trim(std::span<double>, std::span<const MixTerm>, const Format&, std::size_t);

}  // namespace starling::optim
