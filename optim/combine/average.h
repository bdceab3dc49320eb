// Average: a vector s to average with the neighbours' vectors:
//   s+ = s + sum_j w_ij (s_j - s_i) ,   where s_i is s as sent (mixer.h).
// With a compressor, s_j - s_i is the D of the edge's channel (channel.h), each neighbour gets its
// own message, and w_ij is multiplied by theta. A round calls offer(), then absorb(); in slices
// (slices.h) twice, for parts and for means. Otherwise large differences are limited (reach.h,
// trimmer.h).
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

// What a node sends in a round, in the form of the run: one vector for all, or one message an edge.
struct Offer {
  Payload vector = {};
  std::vector<EdgeOffer> of_edge = {};
  CodecReport codec = {};
  double reach = 0;          // tau as sent, 0: none; see reach.h
  std::string problem = {};  // for people: why something is missing; empty: nothing is
};

// Encodes s as message `to.number` of one edge.
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

// The edge ids of this node; an edge that opens again gets another. See Job::edges and Job::ending.
struct EdgeLives {
  std::span<const std::uint64_t> open;
  std::span<const std::uint64_t> ending = {};
  std::shared_ptr<const MaskGroup> mask_group = {};  // see Job::mask_group
};

template <class S>
class Average {
 public:
  // s holds one or more vectors of the form's segments, one after the other. The pool reuses
  // buffers only if it serves vectors of one size.
  Average(std::span<const S> s, std::shared_ptr<BufferPool> pool, const WireForm& form,
          const Aggregation& aggregation = {});

  std::span<const S> values() const { return s_.values(); }
  // The numbers, to be changed. Payloads that were sent do not change.
  std::span<S> edit() { return s_.edit(); }

  // Sets the edges; deletes the state of all others. Returns the ids under which flows are counted:
  // those of the open edges, or with masks one for the group, if there is one (slices.h).
  std::vector<std::uint64_t> keep(const EdgeLives& lives);
  // Encodes s. `to`: the edges to send to, if each gets its own message.
  Offer offer(std::span<const EdgePlace> to);

  using Count = FlowCount<S>;
  // The flow that counts a term of one of the ids that keep() returned; nothing: none.
  using Counts = std::function<std::optional<Count>(const MixTerm&)>;
  // Averages s with the terms. REQUIRES an earlier offer(), and terms with `own`. May overwrite a
  // payload that only its term holds.
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
  bool compares_;  // the reach applies; false with parts, whose distances are not comparable
  std::optional<Channel<S>> channel_;
  std::optional<Slices<S>> slices_;
  BufferPool wire_;  // buffers of encoded vectors, whose size differs from that of s
  Payload sent_;     // the vector of the last offer, until absorb()
};

}  // namespace starling::optim
