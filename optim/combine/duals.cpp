#include "optim/combine/duals.h"

#include <algorithm>
#include <cmath>

#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
void Duals<S>::keep(const EdgeLives& lives, std::span<const S> x) {
  const std::span<const std::uint64_t> edges = lives.open;
  std::erase_if(
      z_, [&](const auto& item) { return std::ranges::find(edges, item.first) == edges.end(); });
  for (const std::uint64_t edge : edges) {
    std::vector<S>& z = z_[edge];
    if (!z.empty()) continue;
    z.resize(size_);
    axpy(rho_, x, std::span(z));
  }
  order_.assign(edges.begin(), edges.end());
  if (channel_) channel_->keep(edges);
}

template <class S>
void Duals<S>::add_to(std::span<S> v, S factor) const {
  for (const std::uint64_t edge : order_) axpy(factor, std::span<const S>(z_.at(edge)), v);
}

template <class S>
std::vector<S> Duals<S>::vector_for(std::span<const S> x, const std::vector<S>& z) const {
  std::vector<S> q(size_);
  for (std::size_t k = 0; k < size_; ++k) q[k] = 2 * rho_ * x[k] - z[k];
  return q;
}

template <class S>
Offer Duals<S>::offer(std::span<const S> x, std::span<const EdgePlace> to, BufferPool& pool) {
  Offer offer;
  if (channel_) {
    for (const EdgePlace& place : to) {
      const auto z = z_.find(place.edge);
      if (z == z_.end()) continue;
      const std::vector<S> q = vector_for(x, z->second);
      offer.of_edge.push_back(offer_over(*channel_, place, std::span<const S>(q), pool));
    }
    offer.codec = report_of(*channel_);
    return offer;
  }
  for (const auto& [edge, z] : z_)
    offer.of_edge.push_back({edge, encode(*format_, std::span<const S>(vector_for(x, z)), pool)});
  return offer;
}

// Reads the neighbour's vector into q; or says why not.
template <class S>
std::string_view Duals<S>::read(const MixTerm& term, std::vector<S>& q) {
  if (channel_) {
    const std::span<const S> sum = channel_->take(term.edge, term.pair, nullptr, term.theirs);
    if (sum.empty()) return "encoding";
    std::ranges::copy(sum, q.begin());
    return {};
  }
  if (!fits(*format_, term.theirs, size_)) return "size";
  decode(*format_, term.theirs, std::span(q));
  return std::isfinite(squared_norm(std::span<const S>(q))) ? "" : "not finite";
}

template <class S>
std::vector<Rejection> Duals<S>::absorb(std::span<const MixTerm> terms) {
  std::vector<Rejection> rejections;
  std::vector<S> q(size_);
  for (const MixTerm& term : terms) {
    const auto found = z_.find(term.edge);
    if (found == z_.end()) continue;
    if (const std::string_view why = read(term, q); !why.empty()) {
      rejections.push_back({term.peer, std::string(why)});
      continue;
    }
    std::vector<S>& z = found->second;
    const S alpha = alpha_ * static_cast<S>(term.theta);
    for (std::size_t k = 0; k < size_; ++k) z[k] += alpha * (q[k] - z[k]);
  }
  return rejections;
}

template class Duals<float>;
template class Duals<double>;

}  // namespace starling::optim
