#include "optim/combine/duals.h"

#include <algorithm>
#include <cmath>

#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
void Duals<S>::keep(std::span<const std::uint64_t> edges, std::span<const S> x) {
  std::erase_if(
      z_, [&](const auto& item) { return std::ranges::find(edges, item.first) == edges.end(); });
  for (const std::uint64_t edge : edges) {
    std::vector<S>& z = z_[edge];
    if (!z.empty()) continue;
    z.resize(size_);
    axpy(rho_, x, std::span(z));
  }
  order_.assign(edges.begin(), edges.end());
}

template <class S>
void Duals<S>::add_to(std::span<S> v, S factor) const {
  for (const std::uint64_t edge : order_) axpy(factor, std::span<const S>(z_.at(edge)), v);
}

template <class S>
std::vector<std::pair<std::uint64_t, Payload>> Duals<S>::offer(std::span<const S> x,
                                                               const Format& format,
                                                               BufferPool& pool) const {
  std::vector<std::pair<std::uint64_t, Payload>> told;
  std::vector<S> q(size_);
  for (const auto& [edge, z] : z_) {
    for (std::size_t k = 0; k < size_; ++k) q[k] = 2 * rho_ * x[k] - z[k];
    told.emplace_back(edge, encode(format, std::span<const S>(q), pool));
  }
  return told;
}

template <class S>
std::vector<Rejection> Duals<S>::absorb(std::span<const MixTerm> terms, const Format& format) {
  std::vector<Rejection> rejections;
  std::vector<S> q(size_);
  for (const MixTerm& term : terms) {
    const auto found = z_.find(term.edge);
    if (found == z_.end()) continue;
    if (!fits(format, term.theirs, size_)) {
      rejections.push_back({term.peer, "size"});
      continue;
    }
    decode(format, term.theirs, std::span(q));
    if (!std::isfinite(squared_norm(std::span<const S>(q)))) {
      rejections.push_back({term.peer, "not finite"});
      continue;
    }
    std::vector<S>& z = found->second;
    for (std::size_t k = 0; k < size_; ++k) z[k] += alpha_ * (q[k] - z[k]);
  }
  return rejections;
}

template class Duals<float>;
template class Duals<double>;

}  // namespace starling::optim
