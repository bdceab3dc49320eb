// Slices: the mean over all nodes by reduce-scatter and all-gather over the edges of a complete
// graph. Each of h hubs, which are neighbours of all n nodes and as a rule are all of them, sums
// one slice of the vector s; a round has two messages on each edge:
//   part    j sends hub i what s_j holds of i's slice
//   mean    i sends a_i, the mean of what s_i holds of its slice and of the parts that came, to
//   those
//           from whom they came, and word that there is none to the others
// As flows, with the s of the part:
//   s_j += g (a_i - s_j) ,  s_i += g sum_j (s_j - a_i)     in i's slice, g the algorithm's share
// What j gains is what i loses, so that the sum over all nodes stays, whichever messages are late;
// and once all have come, with g = 1, every node has the mean. With n hubs a node sends 2 (n - 1) /
// n vectors a round, where whole vectors take n - 1. The slices of hubs move on by one a round, so
// that a hub that is away leaves every number out once in h rounds, not the same ones always. Both
// ends of an edge must count alike: a part of another round, or of a node that counts other nodes,
// gets no mean.
//
// With masks (masked_parts.h) the hub learns of the parts of a group of n nodes only their sum, and
// has a mean only if all have come. It moves by what is the same where all pairs are whole,
//   s_i += g D ,  D = sum_j s_j / (n - 1) - a_i     for each pair of means,
// with the g of the algorithm's full share. A pair that is never whole, since its edge ends between
// the part and the mean or its weight is 0, changes the sum over all nodes by g (s_j - sum_j s_j /
// (n - 1)), and the next round is of another era. All count with one span, which the hub tells with
// its mean. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/codec.h"
#include "optim/codec/wire_form.h"
#include "optim/combine/masked_parts.h"
#include "optim/job.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

// Where the part of a term that enters the last numbers of s is counted: `flow` += factor (theirs
// - own) of these numbers.
template <class S>
struct FlowCount {
  std::span<S> flow;
  double factor;
};

template <class S>
class Slices {
 public:
  // Of vectors of `size` numbers, on the wire in the form.
  Slices(const WireForm& form, std::size_t size);

  // Forgets all other edges. `group`: who takes part from now on, with masks; null: too few.
  void keep(std::span<const std::uint64_t> edges, std::shared_ptr<const MaskGroup> group = nullptr);
  // Why the last offer of parts gave nothing, for a person; empty: no reason to tell.
  std::string problem() const { return masked_ ? masked_->problem() : std::string(); }
  // The messages over those edges: parts under odd numbers, and means under even ones. If a number
  // is that of an earlier offer, that one was not sent.
  std::vector<EdgeOffer> offer(std::span<const EdgePlace> to, std::span<const S> s,
                               BufferPool& pool);

  // How a pair of means is counted: under which life, with which weight, and with which spans: 0
  // for a mean that there is not, and for a pair of parts.
  struct Spans {
    std::uint64_t life = 0;
    double weight = 0;
    double own = 0, theirs = 0;  // of this node's slice, and of the peer's
  };
  Spans spans(const MixTerm& term) const;
  // The lives that the edges are counted by: with masks that of the era, if there is a group.
  std::vector<std::uint64_t> counted(std::span<const std::uint64_t> edges) const;

  using Count = FlowCount<S>;
  // How the two slices are counted; null: not.
  struct Counts {
    const Count* own = nullptr;
    const Count* theirs = nullptr;
  };
  // What a pair of messages did.
  struct Taken {
    // ||s_j - s_i||, judged by the numbers of one slice; only after a pair of means. With masks of
    // all pairs the same, sqrt(2 n / (n - 1)) ||a_i - s_i||, which is right in the mean square
    // where nodes are alike.
    std::optional<double> distance = {};
    bool is_sound = true;  // the peer's message is one
  };
  // Takes both messages of the pair; a pair of means, with weight g / n, moves s.
  Taken take(const MixTerm& term, std::span<S> s, const Counts& counts);

 private:
  // An exchange of parts.
  struct Parts {
    Slot slot = {};
    Payload own = {}, theirs = {};
    bool has_come = false;
    double span = 0;
    std::optional<double> distance = {};
    std::shared_ptr<const MaskedRound<S>> given = {};  // with masks; null: nothing
    std::shared_ptr<const std::vector<S>> lack = {};   // D of this node's slice, once it has a mean
  };
  struct Range {
    std::size_t first = 0, count = 0;
  };
  // Who gets a mean, and its part of that.
  struct Source {
    EdgeOffer* offer;
    Parts* parts;
    double squared = 0;  // the distance of the two, of the numbers of the slice
  };
  struct Gains {
    double model, flow;
  };
  using Numbers = VectorReader<S>;
  // ---- messages
  // Of one that holds the place.
  Range slice(const Slot& slot, std::size_t place) const;
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
  Taken take_means(const MixTerm& term, const Parts& taken, std::span<S> s, const Counts& counts);
  // With masks that of the algorithm's full share.
  double share(const MixTerm& term, const Slot& slot) const;
  void add(Range range, Numbers more, std::optional<Numbers> less, Gains gains, std::span<S> s,
           const Count* count) const;
  void add_own(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
               const Count* count) const;
  void add_theirs(const Parts& taken, const MixTerm& term, Gains gains, std::span<S> s,
                  const Count* count) const;
  static const Format& native();

  const Format* format_;
  std::size_t size_;
  double share_;                                                   // with masks
  std::optional<MaskedParts<S>> masked_;                           // nothing: without masks
  std::map<std::uint64_t, std::map<std::uint64_t, Parts>> edges_;  // by number
};

}  // namespace starling::optim
