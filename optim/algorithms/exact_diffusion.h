// Exact diffusion (Yuan et al., Exact diffusion for distributed optimization and learning, 2019),
// with W~ = (I + W) / 2:
//   phi = x + u(g(x)) - y ;  x+ = W~ phi ;  y+ = y + phi - x+ ,  y = 0 at first.
// y is kept in units of the gradient, as what came over the edges:
//   y_i = -gamma sum_j F_ij ,  F_ij = sum over the pairs averaged on the edge of
//                                     w_ij (s_j - s_i) / (2 span) ,
// where span is the sum of the learning rates of the steps since the pair before (flows.h). With
// one step a round span = gamma, and this is the method as published. The F of all nodes add up to
// nothing whoever comes, goes or crashes; then all x agree and the sum of the gradients vanishes.
// In these units the learning rate may change, tau local steps subtract y / tau each (local exact
// diffusion; Alghunaim 2024), and a node that steps several times between two exchanges counts what
// it then receives for that many steps (as Scaffnew does; Mishchenko et al., ProxSkip, 2022):
// subtracting the whole of it in every step diverges from about five steps an exchange on.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/flows.h"

namespace starling::optim {

template <class S>
class ExactDiffusion final : public Algorithm<S> {
 public:
  ExactDiffusion(std::span<const S> x, const std::shared_ptr<BufferPool>& pool,
                 const Options& options)
      : x_(x, pool, *options.codec),
        u_(x.size()),
        flows_(x.size()),
        local_steps_(options.local_steps) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(std::span<const std::uint64_t> edges) override { flows_.keep(edges); }
  bool local(LocalStep<S>& step) override {
    const S gamma = static_cast<S>(step.learning_rate());
    bool is_taken = true;
    // Refused, u is zero: one that did not subtract its y would make the others solve for it.
    for (std::size_t k = 0; k < local_steps_; ++k) {
      is_taken &= step.direction(x_.values(), u_);
      flows_.add_to(u_, gamma);
      axpy(S{1}, std::span<const S>(u_), x_.edit());
    }
    return is_taken;
  }
  Offer offer() override { return {x_.offer()}; }
  MixResult absorb(std::span<const MixTerm> terms) override {
    return flows_.absorb(x_, terms, {.share = 0.5, .gain = per_step});
  }

 private:
  Average<S> x_;
  std::vector<S> u_;
  Flows<S> flows_;
  std::size_t local_steps_;
};

}  // namespace starling::optim
