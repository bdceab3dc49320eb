// EdgeForm: how a vector s goes over the edges of a node, and how it is averaged with what comes
// back. There are three forms:
//   plain     s as it is, the same for all neighbours (mixer.h, trimmer.h)
//   encoded   for each neighbour what has changed since its last message (codec/channel.h)
//   sliced    for each neighbour a slice of s, then the mean of a slice (slices.h)
// The first two limit large differences (reach.h). One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/codec/wire_form.h"
#include "optim/combine/mixer.h"
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

// The edge ids of this node; an edge that opens again gets another. See Job::edges and Job::ending.
struct EdgeIds {
  std::span<const std::uint64_t> open;
  std::span<const std::uint64_t> ending = {};
  std::shared_ptr<const MaskGroup> mask_group = {};  // see Job::mask_group

  std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> edges(open.begin(), open.end());
    edges.insert(edges.end(), ending.begin(), ending.end());
    return edges;
  }
};

// The flow that counts a term of one of the ids that keep() returned; nothing: none.
template <class S>
using FlowCounts = std::function<std::optional<FlowCount<S>>(const MixTerm&)>;

template <class S>
class EdgeForm {
 public:
  virtual ~EdgeForm() = default;

  // Sets the edges; deletes the state of all others. Returns the ids under which flows are counted:
  // those of the open edges, or with masks one for the group, if there is one (slices.h).
  virtual std::vector<std::uint64_t> keep(const EdgeIds& ids) = 0;
  // Encodes s. `to`: the edges to send to, if each gets its own message.
  virtual Offer offer(std::span<const EdgePlace> to, SharedVector<S>& s) = 0;
  // Averages s with the terms. REQUIRES an earlier offer(), and terms with `own`. May overwrite a
  // payload that only its term holds.
  virtual MixResult absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                           SharedVector<S>& s) = 0;
  // The bytes of a message, where messages differ of one after an edge's first; and the most.
  virtual std::size_t vector_bytes() const = 0;
  virtual std::size_t bytes_limit() const = 0;
};

// For an s of `size` numbers: one or more vectors of the form's segments, one after the other.
template <class S>
std::unique_ptr<EdgeForm<S>> make_edge_form(const WireForm& form, std::size_t size,
                                            const Aggregation& aggregation);

}  // namespace starling::optim
