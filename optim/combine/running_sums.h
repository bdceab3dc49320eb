// RunningSums: mass that nodes give each other over edges that may lead one way and lose messages.
// Of its mass y a node keeps p = 1 / (d + 1) and gives p to each of d edges. A message tells the
// sum of all mass that was ever given to its edge, and the receiver adds what is new in that sum,
// so that a later message makes up for a lost one (Hadjicostis, Vaidya, Dominguez-Garcia, Robust
// distributed average consensus via exchange of running sums, 2016):
//   sigma_ij += p y_i ,  y_i = p y_i ;   y_j += sigma_ij - rho_ij ,  rho_ij = sigma_ij .
// A message holds another vector before the sum. Mass is kept in double precision, so that nothing
// is lost by rounding but what a message cannot hold of a sum. While no edge closes, the y of all
// nodes and sigma - rho of all edges add up to the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optim/codec/codec.h"
#include "optim/combine/edge_form.h"
#include "optim/vector/buffer_pool.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class RunningSums {
 public:
  // Forgets what went over edges that are not open any more.
  void keep(const EdgeIds& ids) {
    const auto is_closed = [&](const auto& item) {
      return std::ranges::find(ids.open, item.first) == ids.open.end();
    };
    std::erase_if(given_, is_closed);
    std::erase_if(taken_, is_closed);
  }
  // Gives of y to each of the edges.
  void give(std::span<const EdgePlace> edges, std::span<double> y) {
    const double part = 1 / (1 + static_cast<double>(edges.size()));
    for (double& value : y) value *= part;
    for (const EdgePlace& place : edges) {
      std::vector<double>& sum = given_[place.edge];
      sum.resize(y.size());
      for (std::size_t k = 0; k < y.size(); ++k) sum[k] += y[k];
    }
  }
  // The messages to the edges, after give(): z, and the sum of each.
  Offer offer(std::span<const EdgePlace> edges, std::span<const S> z, const Format& format,
              BufferPool& pool) const {
    Offer offer;
    std::vector<S> both(z.begin(), z.end());
    for (const EdgePlace& place : edges) {
      both.resize(z.size());
      for (const double sum : given(place.edge)) both.push_back(static_cast<S>(sum));
      offer.of_edge.push_back({place.edge, encode(format, std::span<const S>(both), pool)});
    }
    return offer;
  }
  // Reads a message. Returns why it is none; empty: z and the sum are in `both`.
  static std::string read(const MixTerm& term, const Format& format, std::span<S> both) {
    if (!fits(format, term.theirs, both.size())) return "size";
    decode(format, term.theirs, both);
    return std::isfinite(squared_norm(std::span<const S>(both))) ? "" : "not finite";
  }
  // sigma of an edge to which mass was given.
  std::span<const double> given(std::uint64_t edge) const { return given_.at(edge); }
  // Adds to y what is new in the sum that came over the edge.
  void take(std::uint64_t edge, std::span<const S> sum, std::span<double> y) {
    std::vector<double>& before = taken_[edge];
    before.resize(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += static_cast<double>(sum[k]) - before[k];
    before.assign(sum.begin(), sum.end());
  }

 private:
  std::map<std::uint64_t, std::vector<double>> given_, taken_;  // sigma and rho, by edge
};

}  // namespace starling::optim
