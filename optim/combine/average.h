// Average: a vector s to average with the neighbours' vectors:
//   s+ = s + sum_j w_ij (s_j - s_i) ,   where s_i is s as sent (mixer.h).
// With a compressor s_j - s_i is the D of the edge's channel (channel.h), each neighbour has a
// vector of its own, and w_ij is times theta. In slices (slices.h) a round absorbs twice: what is
// summed for others, and the means; otherwise what lies beyond the reach counts for less (reach.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/codec/channel.h"
#include "optim/codec/codec.h"
#include "optim/combine/mixer.h"
#include "optim/combine/reach.h"
#include "optim/combine/slices.h"
#include "optim/vector/shared_vector.h"

namespace starling::optim {

// Vectors for neighbours, in the form of the run: the same for all, or one for each.
struct Offer {
  Payload vector = {};
  std::vector<EdgeOffer> of_edge = {};
  CodecReport codec = {};
  double reach = 0;          // see reach.h
  std::string problem = {};  // for people: why it holds less than it should; empty: it does not
};

// s, encoded for one edge.
template <class S>
EdgeOffer offer_over(Channel<S>& channel, const EdgePlace& to, std::span<const S> s,
                     BufferPool& pool) {
  auto message = channel.offer(to.edge, to.number, s, pool, to.shortening);
  return {.edge = to.edge,
          .payload = std::move(message.payload),
          .number = to.number,
          .step = message.step,
          .quality = message.quality};
}

template <class S>
CodecReport report_of(const Channel<S>& channel) {
  return {.quality = channel.quality(),
          .memory_bytes = channel.memory_bytes(),
          .chosen = channel.chosen(),
          .vector_bytes = channel.last_bytes()};
}

// The lives of this node's edges; see Job::edges and Job::ending.
struct EdgeLives {
  std::span<const std::uint64_t> open;
  std::span<const std::uint64_t> ending = {};
  std::shared_ptr<const MaskGroup> mask_group = {};  // see Job::mask_group
};

template <class S>
class Average {
 public:
  // s is one vector of the form's segments or several after another. The pool reuses buffers only
  // if it serves vectors of one size.
  Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const WireForm& form,
          const Aggregation& aggregation = {});

  std::span<const S> values() const { return s_.values(); }
  // The numbers, to be changed. Payloads that were sent do not change.
  std::span<S> edit() { return s_.edit(); }

  // Forgets what is remembered of other edges. Returns the lives under which pairs are counted:
  // those of the open edges, or with masks one for all (slices.h).
  std::vector<std::uint64_t> keep(const EdgeLives& lives);
  // s for the wire. `to`: the edges that get it, if each has a vector of its own.
  Offer offer(std::span<const EdgePlace> to);

  using Count = FlowCount<S>;
  // Of a term under one of the lives that keep() returned.
  using Counts = std::function<std::optional<Count>(const MixTerm&)>;
  // REQUIRES an earlier offer, and terms with `own`. What nothing but a term holds is overwritten.
  MixResult absorb(std::span<const MixTerm> terms, const Counts& counts = {});

 private:
  std::shared_ptr<std::byte> room_of(std::span<const MixTerm> terms) const;
  MixTerm of_part(const MixTerm& term);
  MixResult absorb_whole(std::span<const MixTerm> terms, const Counts& counts);
  MixResult absorb_encoded(std::span<const MixTerm> terms, const Counts& counts);
  MixResult absorb_slices(std::span<const MixTerm> terms, const Counts& counts);
  std::vector<double> factors(std::span<const Apart> pairs);

  SharedVector<S> s_;
  const Format* format_;
  Reach reach_;
  bool compares_;  // distances: one part of a vector may differ more than another
  std::optional<Channel<S>> channel_;
  std::optional<Slices<S>> slices_;
  BufferPool wire_;  // for encoded vectors, whose size differs
  Payload sent_;     // of the last offer, until vectors are averaged with it
};

}  // namespace starling::optim
