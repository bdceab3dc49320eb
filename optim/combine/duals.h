// Duals: the z_ij of relaxed ADMM, one vector for each edge at each of its ends, and the q_ij that
// the ends exchange:
//   q_ij = 2 rho x_i - z_ij   is sent from i to j ;   z_ji+ = (1 - alpha) z_ji + alpha q_ij .
// At a fixed point z_ij + z_ji = 2 rho x_i = 2 rho x_j: messages that are lost, late, out of order
// or repeated do not change the limit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "optim/codec/codec.h"
#include "optim/job.h"
#include "optim/vector/buffer_pool.h"

namespace starling::optim {

template <class S>
class Duals {
 public:
  // Each of `size` numbers. REQUIRES penalty > 0 and relaxation in (0, 1].
  Duals(std::size_t size, double penalty, double relaxation)
      : size_(size), rho_(static_cast<S>(penalty)), alpha_(static_cast<S>(relaxation)) {}

  std::size_t count() const { return z_.size(); }
  // For State.
  std::map<std::uint64_t, std::vector<S>>& by_edge() { return z_; }
  // Sets the edges; a new one begins with z = rho x. Sums follow their order, so that rounding does
  // not depend on the ids of edges.
  void keep(std::span<const std::uint64_t> edges, std::span<const S> x);
  // v += factor sum_j z_ij
  void add_to(std::span<S> v, S factor) const;

  // The vector for each neighbour.
  std::vector<std::pair<std::uint64_t, Payload>> offer(std::span<const S> x, const Format& format,
                                                       BufferPool& pool) const;
  // Takes in the neighbours' vectors. Ignores terms of edges that are not kept; a vector of the
  // wrong size or with a number that is not finite is rejected, and its z stays.
  std::vector<Rejection> absorb(std::span<const MixTerm> terms, const Format& format);

 private:
  std::size_t size_;
  S rho_, alpha_;
  std::map<std::uint64_t, std::vector<S>> z_;
  std::vector<std::uint64_t> order_;
};

}  // namespace starling::optim
