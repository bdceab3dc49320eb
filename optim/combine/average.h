// Average: a vector s to average with the neighbours' vectors, in the form of the run
// (edge_form.h):
//   s+ = s + sum_j w_ij (s_j - s_i) ,   where s_i is s as sent (mixer.h).
// With a compressor, s_j - s_i is the D of the edge's channel (channel.h), and w_ij is multiplied
// by theta. A round calls offer(), then absorb(); in slices (slices.h) twice, for parts and for
// means.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "optim/combine/edge_form.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

template <class S>
class Average {
 public:
  // The pool reuses buffers only if it serves vectors of one size. The rest: make_edge_form().
  Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const WireForm& form,
          const Aggregation& aggregation = {})
      : s_(s, std::move(pool)), form_(make_edge_form<S>(form, s.size(), aggregation)) {}

  std::span<const S> values() const { return s_.values(); }
  // The numbers, to be changed. Payloads that were sent do not change.
  std::span<S> edit() { return s_.edit(); }

  // As in EdgeForm.
  std::vector<std::uint64_t> keep(const EdgeIds& ids) { return form_->keep(ids); }
  Offer offer(std::span<const EdgePlace> to) { return form_->offer(to, s_); }
  MixResult absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts = {}) {
    return form_->absorb(terms, counts, s_);
  }

 private:
  SharedVector<S> s_;
  std::unique_ptr<EdgeForm<S>> form_;
};

}  // namespace starling::optim
