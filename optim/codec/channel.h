// Channel: what a node remembers of the vectors that it exchanges over its edges, so that these can
// be encoded lossily and still be averaged exactly. An end keeps r, what its peer has decoded of
// its vectors, and sends the difference:
//   v = s - r ;  message = encode(v) ;  q = decode(message) ;  r += q         as pair k is sent
//   D += q_theirs - q_own                                                     when pair k is whole
// D is the peer's r less one's own, both after pair k. Both ends add the same two vectors with
// opposite sign, so their D differ in the sign only, to the last bit, and what one gains by D the
// other loses. As the vectors settle v shrinks, and the error with it. Every pair enters once and
// in order (gossip's sessions see to that); r = D = 0 before the first pair, which is sent whole.
// After CHOCO-SGD (Koloskova, Stich, Jaggi, 2019), with a replica for each edge. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/quality.h"
#include "optim/codec/wire_form.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

// How a vector divides.
struct Layout {
  std::vector<Segment> segments;  // in order; in every half the same
  std::size_t halves = 1;         // vectors that are sent as one

  std::size_t size() const { return halves * count_of(segments); }
};

template <class S>
class Channel {
 public:
  // `format`: of the first message, and of what no compressor encodes.
  Channel(const Coding& coding, Layout layout, const Format* format = format_named("f32"))
      : coding_(coding), layout_(std::move(layout)), format_(format) {}

  // Forgets all other edges.
  void keep(std::span<const std::uint64_t> edges);

  struct Message {
    Payload payload;
    // The step theta that this end allows the pair, in [0, 1]; see quality.h.
    double step = 1;
    double quality = 1;  // m of the edge, with this message
  };
  // The message that offers s as pair number `pair` of the edge, 1 being the first. If the number
  // is that of the last offer, that one was not sent. Where s is not finite, the message changes
  // nothing and its step is 0. REQUIRES the last number or the one after it.
  Message offer(std::uint64_t edge, std::uint64_t pair, std::span<const S> s, BufferPool& pool);

  // The numbers of D that a pair holds, one piece of each half.
  struct Piece {
    std::size_t first;  // its place in the vector
    std::span<const S> difference;
  };
  // Takes both messages of a pair; what is returned is valid until the edge is forgotten. Nothing
  // if the peer's is no such message, or the pair is not the next one: then nothing more is taken
  // from this edge. `own` may be null: the sum of the peer's vectors alone.
  std::vector<Piece> take(std::uint64_t edge, std::uint64_t pair, const Payload* own,
                          const Payload& theirs);
  // The sum of the spans since the last pair that was averaged of the same part, given the span of
  // this pair. REQUIRES that the pair was taken, and was asked of once.
  double span_of_part(std::uint64_t edge, std::uint64_t pair, double span, bool is_averaged);

  // Bytes of the message of pair `pair`.
  std::size_t bytes(std::uint64_t pair) const;
  // The most bytes of a message.
  std::size_t bytes_limit() const { return std::max(bytes(1), bytes(2)); }
  // Of what is remembered.
  std::size_t memory_bytes() const;
  // The mean of the qualities of the edges' last messages, 1 without any.
  double quality() const;

 private:
  struct Edge {
    std::vector<S> replica, difference;  // r, without the last offer, and D
    Payload offered;                     // the last offer
    std::uint64_t pair = 0;              // its number
    std::uint64_t taken = 0;             // the number of the last pair that was taken
    Quality quality, quality_before;     // with the last offer, and without it
    bool is_broken = false;
    std::vector<double> spans;  // of each part, since its last pair
  };
  // Of each half.
  struct Range {
    std::size_t first, end;
  };
  // A block.
  struct Place {
    std::size_t first = 0, count = 0, half = 0;
    bool is_whole = false;
  };
  class Decoder;
  std::size_t part_of(std::uint64_t pair) const { return (pair - 2) % coding_.parts; }
  Range range_of(std::uint64_t pair) const;
  std::size_t block() const { return coding_.compressor ? coding_.compressor->block : kBlockLimit; }
  template <class Visit>
  bool for_blocks(std::uint64_t pair, Visit visit) const;
  std::size_t bytes(const Place& place) const;
  bool encode(const Place& place, std::span<const S> v, std::span<S> q, std::byte* wire) const;
  bool decode(const Place& place, const std::byte* wire, std::span<S> q) const;
  void follow_offer(Edge& end) const;
  std::vector<Piece> pieces_of(std::span<const S> difference, std::uint64_t pair) const;
  std::optional<double> encode(std::uint64_t pair, std::span<const S> s, std::span<const S> r,
                               std::byte* wire) const;
  Message first_message(std::span<const S> s, BufferPool& pool) const;

  Coding coding_;
  Layout layout_;
  const Format* format_;
  std::map<std::uint64_t, Edge> edges_;
};

// Bytes of an offer of so many vectors; with a compressor of those after the first of an edge.
inline std::size_t vector_bytes(const WireForm& form, std::size_t vectors) {
  const Layout layout{form.segments, vectors};
  return form.remembers() ? Channel<float>(form.coding, layout, form.format).bytes(2)
                          : bytes_limit(*form.format, layout.size());
}
// The most bytes of a message of so many vectors.
inline std::size_t bytes_limit(const WireForm& form, std::size_t vectors) {
  const Layout layout{form.segments, vectors};
  return form.remembers() ? Channel<float>(form.coding, layout, form.format).bytes_limit()
                          : bytes_limit(*form.format, layout.size());
}

}  // namespace starling::optim
