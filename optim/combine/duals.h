// Duals: the dual variables z_ij of relaxed ADMM, one vector at each end of each edge, and the q_ij
// that the ends exchange:
//   q_ij = 2 rho x_i - z_ij   is sent from i to j ;   z_ji+ = (1 - alpha) z_ji + alpha q_ij .
// At a fixed point z_ij + z_ji = 2 rho x_i = 2 rho x_j: messages that are lost, late, out of order
// or repeated do not change the limit. With a compressor, q_ij is the sum of the decoded messages
// (channel.h), alpha is times theta, and each message is absorbed once and in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "optim/codec/channel.h"
#include "optim/codec/codec.h"
#include "optim/combine/edge_form.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class Duals {
 public:
  // Every z has `size` numbers. REQUIRES penalty > 0 and relaxation in (0, 1].
  Duals(std::size_t size, double penalty, double relaxation, const WireForm& form)
      : size_(size),
        rho_(static_cast<S>(penalty)),
        alpha_(static_cast<S>(relaxation)),
        format_(form.format) {
    if (form.remembers()) channel_.emplace(form);
  }

  std::size_t count() const { return z_.size(); }
  // The z of each edge id, for State.
  std::map<std::uint64_t, std::vector<S>>& by_edge() { return z_; }
  // Sets the edges; the z of a new one starts at rho x. Sums are taken in the order of
  // `ids.open`, so that rounding does not depend on edge ids.
  void keep(const EdgeIds& ids, std::span<const S> x);
  // v += factor sum_j z_ij
  void add_to(std::span<S> v, S factor) const;

  // Encodes q for every edge; with a compressor only for those in `to`.
  Offer offer(std::span<const S> x, std::span<const EdgePlace> to, BufferPool& pool);
  // Updates z with the neighbours' vectors. Ignores terms of unknown edges. Rejects a vector of the
  // wrong size or with a number that is not finite, and leaves its z unchanged.
  std::vector<Rejection> absorb(std::span<const MixTerm> terms);

 private:
  std::vector<S> vector_for(std::span<const S> x, const std::vector<S>& z) const;
  using Piece = typename Channel<S>::Piece;
  std::string_view read(const MixTerm& term, std::vector<S>& scratch, std::vector<Piece>& pieces);

  std::size_t size_;
  S rho_, alpha_;
  const Format* format_;
  std::optional<Channel<S>> channel_;
  std::map<std::uint64_t, std::vector<S>> z_;
  std::vector<std::uint64_t> order_;
};

}  // namespace starling::optim
