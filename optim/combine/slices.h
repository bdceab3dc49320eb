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
// gets no mean. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/wire_form.h"
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
  // Of vectors of `size` numbers, on the wire in the format.
  Slices(const Format& format, std::size_t size) : format_(&format), size_(size) {}

  // Forgets all other edges.
  void keep(std::span<const std::uint64_t> edges);
  // The messages over those edges: parts under odd numbers, and means under even ones. If a number
  // is that of an earlier offer, that one was not sent.
  std::vector<EdgeOffer> offer(std::span<const EdgePlace> to, std::span<const S> s,
                               BufferPool& pool);

  using Count = FlowCount<S>;
  // What a pair of messages did.
  struct Taken {
    // ||s_j - s_i||, judged by the numbers of one slice; only after a pair of means.
    std::optional<double> distance = {};
    bool is_sound = true;  // the peer's message is one
  };
  // Takes both messages of the pair; a pair of means, with weight g / n, moves s. `count` may be
  // null.
  Taken take(const MixTerm& term, std::span<S> s, const Count* count);
  // The span of the parts that a pair of means belongs to, 0 if none does, or for a pair of parts.
  double span_of(const MixTerm& term) const;

 private:
  // An exchange of parts.
  struct Parts {
    Slot slot = {};
    Payload own = {}, theirs = {};
    bool has_come = false;
    double span = 0;
    std::optional<double> distance = {};
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
  // Of one that holds the place.
  Range slice(const Slot& slot, std::size_t place) const;
  std::size_t most_bytes(const Slot& slot) const;
  Payload part(const Slot& slot, std::span<const S> s, BufferPool& pool) const;
  bool counts_alike(const Parts& parts) const;
  Payload mean(std::span<Source> from, std::span<const S> s, BufferPool& pool) const;
  void offer_means(std::span<EdgeOffer*> offers, std::uint64_t round, std::span<const S> s,
                   BufferPool& pool);
  bool holds(const Payload& message, Range range) const;
  struct Gains {
    double model, flow;
  };
  void add(Range range, const Payload& more, const Payload& less, Gains gains, std::span<S> s,
           const Count* count) const;
  Parts* find(std::uint64_t edge, std::uint64_t number);

  const Format* format_;
  std::size_t size_;
  std::map<std::uint64_t, std::map<std::uint64_t, Parts>> edges_;  // by number
};

}  // namespace starling::optim
