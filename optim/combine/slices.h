// Slices: the mean over all nodes by reduce-scatter and all-gather over the edges of a complete
// graph. Each of h hubs, as a rule all n nodes, is a neighbour of every node and sums one slice of
// the vector s. A round has two messages each way on an edge with a hub:
//   part    node j sends hub i the numbers of s_j in i's slice
//   mean    hub i sends a_i, the mean of its own slice and the parts received, to each node whose
//           part it has received, and "no mean" to all others
// The means move s, like flows, with the s of the parts:
//   s_j += g (a_i - s_j) ,  s_i += g sum_j (s_j - a_i)     in i's slice, g the algorithm's share
// What j gains i loses, so the sum over all nodes is conserved, whichever messages are late. Once
// all have arrived, with g = 1, every node has the mean. With n hubs a node sends 2 (n - 1) / n
// vectors a round, instead of n - 1 whole ones. The slices of hubs rotate by one a round, so that
// an absent hub leaves out every number once in h rounds, not always the same ones. Both ends of an
// edge must count the same nodes: a part of another round, or from a node that counts other nodes,
// gets no mean.
//
// With masks (masked_parts.h) a hub learns only the sum of the parts of a group of n nodes, and has
// a mean only if all have arrived. Its moves over n - 1 pairs then add up to the same:
//   s_i += g D ,  D = sum_j s_j / (n - 1) - a_i     for each pair of means,
// with the g of the algorithm's full share. A pair that never completes, because its edge ends
// between part and mean or its weight is 0, changes the sum over all nodes by g (s_j - sum_j s_j /
// (n - 1)); the next round then begins another era. All members count with one span, which the hub
// sends with its mean. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/payload.h"
#include "optim/codec/codec.h"
#include "optim/combine/edge_form.h"
#include "optim/combine/masked_parts.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class Slices final : public EdgeForm<S> {
 public:
  // For vectors of `size` numbers, sent in the format.
  Slices(const Format& format, const Slicing& slicing, std::size_t size);

  std::vector<std::uint64_t> keep(const EdgeIds& ids) override;
  Offer offer(std::span<const EdgePlace> to, SharedVector<S>& s) override;
  MixResult absorb(std::span<const MixTerm> terms, const FlowCounts<S>& counts,
                   SharedVector<S>& s) override;
  // Between two nodes. With masks a single hub may have one slice of all numbers.
  std::size_t vector_bytes() const override { return bytes((size_ + 1) / 2); }
  std::size_t bytes_limit() const override { return masked_ ? bytes(size_) : vector_bytes(); }

  // Why the last offer of parts was without numbers, for a person; empty: no such reason.
  std::string problem() const { return masked_ ? masked_->problem() : std::string(); }
  // The messages over the edges `to`: parts have odd numbers, means even ones. Offering a number
  // again replaces the earlier offer, which was not sent.
  std::vector<EdgeOffer> messages(std::span<const EdgePlace> to, std::span<const S> s,
                                  BufferPool& pool);
  // The ids under which the edges are counted: with masks one for group and era, or none.
  std::vector<std::uint64_t> counted(std::span<const std::uint64_t> edges) const;

  // The result of a pair of messages.
  struct Taken {
    // ||s_j - s_i||, estimated from the numbers of one slice; only after a pair of means. With
    // masks the same for all pairs, sqrt(2 n / (n - 1)) ||a_i - s_i||, which is right in the mean
    // square if nodes are alike.
    std::optional<double> distance = {};
    bool is_sound = true;  // the peer's message is valid
  };
  // Processes both messages of a pair. A pair of means, with weight g / n, moves s. `counts` is
  // asked once for each mean, with its span and an id that counted() gives.
  Taken take(const MixTerm& term, const FlowCounts<S>& counts, std::span<S> s);

 private:
  // The two parts of one round on one edge.
  struct Parts {
    Slot slot = {};
    Payload own = {}, theirs = {};
    bool has_come = false;
    double span = 0;
    std::optional<double> distance = {};
    std::shared_ptr<const MaskedRound<S>> given = {};  // with masks, what own is of; null: none
    std::shared_ptr<const std::vector<S>> lack = {};   // D of this node's slice, once it has a mean
  };
  struct Range {
    std::size_t first = 0, count = 0;
  };
  // A node that gets the mean, and its part.
  struct Source {
    EdgeOffer* offer;
    Parts* parts;
    double squared = 0;  // ||s_j - s_i||^2 over the slice
  };
  struct Gains {
    double model, flow;  // factors on the difference that is added to s and to the flow
  };
  using Numbers = VectorReader<S>;
  using Count = FlowCount<S>;
  // ---- messages
  // The slice of the hub at a place; empty: there is no such hub.
  Range slice(const Slot& slot, std::size_t place) const;
  std::size_t bytes(std::size_t count) const;  // of a message of so many numbers
  std::size_t most_bytes(const Slot& slot) const;
  Payload part(const Slot& slot, std::span<const S> s, BufferPool& pool) const;
  Payload masked_part(const Parts& parts, BufferPool& pool);
  bool counts_alike(const Parts& parts) const;
  Payload mean(std::span<Source> from, std::span<const S> s, BufferPool& pool) const;
  Payload masked_mean(std::span<Source> from, std::span<const S> s, BufferPool& pool) const;
  void offer_means(std::span<EdgeOffer*> offers, std::uint64_t round, std::span<const S> s,
                   BufferPool& pool);
  bool holds(const Payload& message, Range range) const;
  bool holds_part(const Payload& message, Range range) const;
  bool is_mean(const Payload& message) const;
  bool is_finite_mean(const Payload& message, Range range) const;
  // ---- pairs
  void take_part(const MixTerm& term, Parts& parts);
  Taken take_means(const MixTerm& term, const Parts& taken, const FlowCounts<S>& counts,
                   std::span<S> s);
  std::optional<Count> count(const MixTerm& term, const Parts& taken, const Payload& mean,
                             const FlowCounts<S>& counts) const;
  // The weight of a term; with masks that of the algorithm's full share.
  double share(const MixTerm& term, const Slot& slot) const;
  void add(Range range, Numbers more, std::optional<Numbers> less, Gains gains, std::span<S> s,
           const std::optional<Count>& count) const;
  void add_own(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
               const std::optional<Count>& count) const;
  void add_theirs(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
                  const std::optional<Count>& count) const;
  static const Format& native();

  const Format* format_;
  std::size_t size_;
  double share_;                          // of the algorithm; used with masks
  std::optional<MaskedParts<S>> masked_;  // empty: without masks
  std::map<std::uint64_t, std::map<std::uint64_t, Parts>> edges_;  // by edge id and number
  BufferPool wire_;                                                // buffers of messages
};

}  // namespace starling::optim
