#include "optim/combine/duals.h"

#include <algorithm>
#include <cmath>

#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
void Duals<S>::keep(const EdgeIds& ids, std::span<const S> x) {
  const std::span<const std::uint64_t> edges = ids.open;
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
      offer.of_edge.push_back(channel_->offer(place, q, pool));
    }
    offer.codec = channel_->report();
    return offer;
  }
  for (const auto& [edge, z] : z_)
    offer.of_edge.push_back({edge, encode(*format_, std::span<const S>(vector_for(x, z)), pool)});
  return offer;
}

// Reads the pieces of the vector that the message holds. Returns why it is rejected; empty: valid.
template <class S>
std::string_view Duals<S>::read(const MixTerm& term, std::vector<S>& scratch,
                                std::vector<Piece>& pieces) {
  if (channel_) {
    pieces = channel_->take(term.edge, term.number, nullptr, term.theirs);
    return pieces.empty() ? "encoding" : "";
  }
  if (!fits(*format_, term.theirs, size_)) return "size";
  decode(*format_, term.theirs, std::span(scratch));
  pieces = {{0, scratch}};
  return std::isfinite(squared_norm(std::span<const S>(scratch))) ? "" : "not finite";
}

template <class S>
std::vector<Rejection> Duals<S>::absorb(std::span<const MixTerm> terms) {
  std::vector<Rejection> rejections;
  std::vector<S> scratch(size_);
  std::vector<Piece> pieces;
  for (const MixTerm& term : terms) {
    const auto found = z_.find(term.edge);
    if (found == z_.end()) continue;
    if (const std::string_view why = read(term, scratch, pieces); !why.empty()) {
      rejections.push_back({term.peer, std::string(why)});
      continue;
    }
    const S alpha = alpha_ * static_cast<S>(term.theta);
    for (const auto& [first, q] : pieces) {
      const std::span<S> z = std::span(found->second).subspan(first, q.size());
      for (std::size_t k = 0; k < q.size(); ++k) z[k] += alpha * (q[k] - z[k]);
    }
  }
  return rejections;
}

template class Duals<float>;
template class Duals<double>;

}  // namespace starling::optim
