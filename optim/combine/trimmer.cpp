#include "optim/combine/trimmer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "optim/vector/kernels.h"

namespace starling::optim {
namespace {

constexpr std::size_t kTrimTile = 1024;

// The difference of a term, tile after tile.
template <class S>
class Difference {
 public:
  Difference(const MixTerm& term, const Format& format)
      : weight(static_cast<S>(term.weight)), own_(format, term.own), theirs_(format, term.theirs) {}

  // Of the next `count` numbers, at most a tile. Valid until the next call.
  std::span<const S> next(std::size_t count) {
    const std::span<const S> own = own_.next(std::span(own_scratch_).first(count));
    const std::span<const S> theirs = theirs_.next(std::span(scratch_).first(count));
    for (std::size_t k = 0; k < count; ++k) difference_[k] = theirs[k] - own[k];
    return std::span<const S>(difference_).first(count);
  }

  const S weight;

 private:
  VectorReader<S> own_, theirs_;
  std::vector<S> own_scratch_ = std::vector<S>(kTrimTile), scratch_ = own_scratch_,
                 difference_ = own_scratch_;
};

template <class S>
double distance_of(const MixTerm& term, const Format& format, std::size_t size) {
  Difference<S> difference(term, format);
  double squared = 0;
  for (std::size_t start = 0; start < size; start += kTrimTile)
    squared += squared_norm(difference.next(std::min(kTrimTile, size - start)));
  return std::sqrt(squared);
}

template <class S>
struct Pull {
  S difference, weight;
};

// The sum of what is left without the `liars` at both ends. Changes the order of the pulls.
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
    const double distance = fits_both ? distance_of<S>(term, format, x.size()) : 0;
    if (!fits_both || !std::isfinite(distance)) {
      result.rejections.push_back({term.peer, fits_both ? "not finite" : "size"});
      continue;
    }
    result.distances.push_back({term.peer, distance});
    result.mixed.push_back(place);
    result.factors.push_back(1);
  }
  std::vector<Difference<S>> differences;
  for (const std::size_t place : result.mixed) differences.emplace_back(terms[place], format);
  const std::size_t columns = differences.size() + 1;  // the last one is this node's: 0
  std::vector<Pull<S>> pulls(kTrimTile * columns);
  for (std::size_t start = 0; start < x.size(); start += kTrimTile) {
    const std::size_t count = std::min(kTrimTile, x.size() - start);
    for (std::size_t j = 0; j + 1 < columns; ++j) {
      const std::span<const S> difference = differences[j].next(count);
      for (std::size_t k = 0; k < count; ++k)
        pulls[k * columns + j] = {difference[k], differences[j].weight};
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
