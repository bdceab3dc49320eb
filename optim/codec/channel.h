// Channel: what a node remembers of the vectors that it exchanges over its edges, so that these can
// be encoded lossily and still be averaged exactly. An end keeps r, what its peer has decoded of
// its vectors, and sends the difference:
//   v = s - r ;  message = encode(v) ;  q = decode(message) ;  r += q         as pair k is sent
//   D += q_theirs - q_own                                                     when pair k is whole
// D is the peer's r minus the own one, both after pair k. Both ends add the same two vectors with
// opposite sign, so their D differ in the sign only, to the last bit, and what one gains by D the
// other loses. As the vectors converge v shrinks, and the error with it. Every pair enters once and
// in order, which gossip/edges/ ensures; r = D = 0 before the first pair, which is sent whole.
// After CHOCO-SGD (Koloskova, Stich, Jaggi, 2019), with a replica for each edge. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/ladder.h"
#include "optim/codec/quality.h"
#include "optim/codec/wire_form.h"
#include "optim/edge_vectors.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class Channel {
 public:
  // A vector is `halves` vectors of the form's segments, one after the other.
  explicit Channel(WireForm form, std::size_t halves = 1)
      : form_(std::move(form)), halves_(halves), size_(halves * count_of(form_.segments)) {}

  // Deletes the state of all other edges.
  void keep(std::span<const std::uint64_t> edges);

  // Encodes s as message `to.number` of the edge. Offering the last number again replaces that
  // offer, which was not sent. If s is not finite, the message changes nothing and its theta is 0.
  // REQUIRES the last number or the one after it.
  EdgeOffer offer(const EdgePlace& to, std::span<const S> s, BufferPool& pool);

  // The numbers of D that a pair changes, one piece of each half.
  struct Piece {
    std::size_t first;  // its place in the vector
    std::span<const S> difference;
  };
  // Adds both messages of that number to D. Returns views into D, valid until keep() deletes the
  // edge. Empty, from now on, if a message is invalid or the number is not the next one. `own`
  // null: D is the sum of the peer's decoded messages alone.
  std::vector<Piece> take(std::uint64_t edge, std::uint64_t number, const Payload* own,
                          const Payload& theirs);
  // Adds the span of a pair that was taken. If it is averaged, returns the sum of the spans since
  // the last averaged pair of the same part, else `span`. Call once for each pair.
  double span_of_part(std::uint64_t edge, std::uint64_t number, double span, bool is_averaged);

  // The bytes of the message of that number. `rung`: of the ladder, with Coding::is_chosen.
  std::size_t bytes(std::uint64_t number, std::size_t rung = 0) const;
  // The most bytes of a message.
  std::size_t bytes_limit() const;
  // How the channel does: the mean of m over its edges (quality.h), 1 without edges; the bytes of
  // all replicas, differences and offers; and the rungs of the last messages.
  CodecReport report() const;

 private:
  struct Edge {
    std::vector<S> replica, difference;  // r, without the last offer, and D
    Payload offered;                     // the last offer
    std::uint64_t number = 0;            // of that offer
    std::uint64_t taken = 0;             // the number of the last pair that was taken
    Quality quality, quality_before;     // with the last offer, and without it
    bool is_broken = false;              // no further pair is taken
    std::size_t rung = 0;                // of the last message
    std::vector<double> spans;           // sum for each part since its last averaged pair
  };
  // The numbers of each half that a message holds.
  struct Range {
    std::size_t first, end;
  };
  // Numbers of one segment that are processed together, at most kBlockLimit.
  struct Tile {
    std::size_t first, count, half;
    bool is_whole;
  };
  class Decoder;
  std::size_t part_of(std::uint64_t number) const { return (number - 2) % form_.coding.parts; }
  Range range_of(std::uint64_t number) const;
  template <class Visit>
  bool for_tiles(std::uint64_t number, Visit visit) const;
  std::size_t header_bytes(std::uint64_t number) const {
    return form_.coding.is_chosen && number > 1 && size_ > 0 ? 1 : 0;
  }
  Encoding encoding_of(std::uint64_t number, std::size_t rung) const;
  std::size_t rung_of(std::uint64_t number, const Payload& message) const;
  bool fits(std::uint64_t number, const Payload& message) const;
  void follow_offer(Edge& end) const;
  std::optional<double> encode(std::uint64_t number, const Encoding& encoding, std::span<const S> s,
                               std::span<const S> r, std::byte* wire) const;
  std::vector<Piece> pieces_of(std::span<const S> difference, std::uint64_t number) const;

  WireForm form_;
  std::size_t halves_, size_;
  std::map<std::uint64_t, Edge> edges_;
};

}  // namespace starling::optim
