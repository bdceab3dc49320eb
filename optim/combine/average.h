// Average: a vector s that neighbours average with, and what they were sent of it:
//   s+ = s + sum_j w_ij (s_j - s_i) ,   s_i being what was sent (mixer.h).
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "optim/codec/codec.h"
#include "optim/combine/mixer.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

template <class S>
class Average {
 public:
  // The pool serves vectors of this size only, or forgoes their reuse.
  Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const Format& format)
      : s_(s, std::move(pool)), format_(&format) {}

  std::span<const S> values() const { return s_.values(); }
  // The numbers, to be changed. What was sent stays as it is.
  std::span<S> edit() { return s_.edit(); }

  // s for the wire.
  Payload offer() { return sent_ = encode(*format_, s_, wire_); }
  const Format& format() const { return *format_; }

  // REQUIRES that there was an offer, and terms that have their `own`.
  MixResult absorb(std::span<const MixTerm> terms) { return mix(s_, sent_, terms, *format_); }

 private:
  SharedVector<S> s_;
  const Format* format_;
  BufferPool wire_;  // for vectors whose format is not S as it lies, and so of another size
  Payload sent_;
};

}  // namespace starling::optim
