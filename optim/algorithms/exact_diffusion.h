// Exact diffusion (Yuan et al., Exact diffusion for distributed optimization and learning, 2019),
// with W~ = (I + W) / 2:
//   phi = x + u(g(x)) - y ;  x+ = W~ phi ;  y+ = y + phi - x+ ,  y = 0 at first.
// y is kept in units of the gradient, as a sum of flows over the edges:
//   y_i = -gamma sum_j F_ij ,  F_ij = sum over the pairs averaged on the edge of
//                                     w_ij (s_j - s_i) / (2 span) ,
// where span is the sum of the learning rates of the steps since the previous pair (flows.h). With
// one step a round span = gamma, and this is the method as published. The F of all nodes add up to
// zero whatever nodes come, go or crash; in the limit all x agree and the sum of the gradients
// vanishes. In these units the learning rate may change, tau local steps subtract y / tau each
// (LED, local exact diffusion; Alghunaim, Local exact-diffusion for decentralized optimization and
// learning, 2024), and a node that steps several times between two exchanges spreads what it
// receives over that many steps (as Scaffnew does; Mishchenko et al., ProxSkip, 2022): subtracting
// all of it in every step diverges from about five steps an exchange.
#pragma once

#include <span>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/flows.h"

namespace starling::optim {

template <class S>
class ExactDiffusion final : public Algorithm<S> {
 public:
  ExactDiffusion(std::span<const S> x, const std::shared_ptr<BufferPool>& pool,
                 const Options& options, const WireForm& form)
      : share_(options.algorithm->needs.mixing_share),
        x_(x, pool, form, options.aggregation),
        flows_(x.size()) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(const EdgeIds& ids) override { flows_.keep(x_.keep(ids)); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    const std::span<S> x = x_.edit();
    // A refused u is zero, but y is still subtracted: otherwise it would bias the other nodes.
    return learner.advance(x,
                           {.count = steps.count,
                            .learning_rate = steps.learning_rate,
                            .correction = flows_.scaled(static_cast<S>(1 / steps.weight)),
                            .goes_on = true},
                           {.end = x});
  }
  Offer offer(std::span<const EdgePlace> to) override { return x_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool) override {
    return flows_.absorb(x_, terms, {.share = share_, .gain = per_step});
  }

  State<S> state() override { return {.edges = {{"flow", &flows_.by_edge()}}}; }

 private:
  double share_;
  Average<S> x_;
  Flows<S> flows_;
};

}  // namespace starling::optim
