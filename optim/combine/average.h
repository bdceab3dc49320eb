// Average: a vector s to average with the neighbours' vectors:
//   s+ = s + sum_j w_ij (s_j - s_i) ,   where s_i is s as sent (mixer.h).
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
  // The pool reuses buffers only if it serves vectors of one size.
  Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const Format& format)
      : s_(s, std::move(pool)), format_(&format) {}

  std::span<const S> values() const { return s_.values(); }
  // The numbers, to be changed. Payloads that were sent do not change.
  std::span<S> edit() { return s_.edit(); }

  // s for the wire.
  Payload offer() { return sent_ = encode(*format_, s_, wire_); }
  const Format& format() const { return *format_; }

  // REQUIRES an earlier offer, and terms with `own`.
  MixResult absorb(std::span<const MixTerm> terms) { return mix(s_, sent_, terms, *format_); }

 private:
  SharedVector<S> s_;
  const Format* format_;
  BufferPool wire_;  // for encoded vectors, whose size differs
  Payload sent_;
};

}  // namespace starling::optim
