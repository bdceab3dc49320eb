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
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/ladder.h"
#include "optim/codec/quality.h"
#include "optim/codec/wire_form.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class Channel {
 public:
  // A vector is `halves` vectors of the form's segments, one after the other.
  explicit Channel(WireForm form, std::size_t halves = 1)
      : form_(std::move(form)), halves_(halves), size_(halves * count_of(form_.segments)) {}

  // Forgets all other edges.
  void keep(std::span<const std::uint64_t> edges);

  struct Message {
    Payload payload;
    // The step theta that this end allows the pair, in [0, 1]; see quality.h.
    double step = 1;
    double quality = 1;  // m of the edge, with this message
  };
  // The message that offers s as that pair of the edge, 1 being the first. If the number is that of
  // the last offer, that one was not sent. Where s is not finite, the message changes nothing and
  // its step is 0. REQUIRES the last number or the one after it.
  // `shortening`: how far to shorten the message where the form is chosen; see ladder.h.
  Message offer(std::uint64_t edge, std::uint64_t pair, std::span<const S> s, BufferPool& pool,
                std::size_t shortening = 1);

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

  // Bytes of the message of pair `pair`, on that rung of the ladder where the form is chosen.
  std::size_t bytes(std::uint64_t pair, std::size_t rung = 0) const;
  // The most bytes of a message.
  std::size_t bytes_limit() const;
  // Of what is remembered.
  std::size_t memory_bytes() const;
  // The mean of the qualities of the edges' last messages, 1 without any.
  double quality() const;
  // Of the last message that was not an edge's first, where the form is chosen.
  std::string_view chosen() const;
  std::size_t last_bytes() const { return bytes(2, last_rung_); }

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
  // Numbers of one segment, as many as are worked on at a time.
  struct Tile {
    std::size_t first, count, half;
    bool is_whole;
  };
  class Decoder;
  std::size_t part_of(std::uint64_t pair) const { return (pair - 2) % form_.coding.parts; }
  Range range_of(std::uint64_t pair) const;
  template <class Visit>
  bool for_tiles(std::uint64_t pair, Visit visit) const;
  std::size_t header_bytes(std::uint64_t pair) const {
    return form_.coding.is_chosen && pair > 1 && size_ > 0 ? 1 : 0;
  }
  Encoding encoding_of(std::uint64_t pair, std::size_t rung) const;
  std::size_t rung_of(std::uint64_t pair, const Payload& message) const;
  bool fits(std::uint64_t pair, const Payload& message) const;
  void follow_offer(Edge& end) const;
  std::optional<double> encode(std::uint64_t pair, const Encoding& encoding, std::span<const S> s,
                               std::span<const S> r, std::byte* wire) const;
  Message first_message(std::span<const S> s, BufferPool& pool) const;
  std::vector<Piece> pieces_of(std::span<const S> difference, std::uint64_t pair) const;

  WireForm form_;
  std::size_t halves_, size_;
  std::size_t last_rung_ = 0;
  std::map<std::uint64_t, Edge> edges_;
};

// Bytes of an offer of so many vectors over an edge; with a compressor of those after the first of
// the edge, and in slices of each message between two nodes.
inline std::size_t vector_bytes(const WireForm& form, std::size_t vectors) {
  const std::size_t numbers = vectors * count_of(form.segments);
  const std::size_t slice = (numbers + 1) / 2;
  if (form.coding.is_masked) return kSliceHead + kMaskedHead + kMaskedWidth * (slice + 1);
  if (form.coding.in_slices) return kSliceHead + bytes_limit(*form.format, slice);
  return form.remembers() ? Channel<float>(form, vectors).bytes(2)
                          : bytes_limit(*form.format, numbers);
}
// The most bytes of a message of so many vectors: a masked slice of the only hub holds all numbers.
inline std::size_t bytes_limit(const WireForm& form, std::size_t vectors) {
  if (form.coding.is_masked)
    return kSliceHead + kMaskedHead + kMaskedWidth * (vectors * count_of(form.segments) + 1);
  return form.coding.is_of_differences() ? Channel<float>(form, vectors).bytes_limit()
                                         : vector_bytes(form, vectors);
}

}  // namespace starling::optim
