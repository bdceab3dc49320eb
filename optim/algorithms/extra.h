// EXTRA (Shi, Ling, Wu, Yin, EXTRA: an exact first-order algorithm for decentralized consensus
// optimization, 2015), with W~ = (I + W) / 2:
//   x1 = W x0 - gamma g(x0) ;  x++ = (I + W) x+ - W~ x - gamma (g(x+) - g(x)) .
// Summed over all rounds, earlier models and gradients remain only as flows over the edges,
//   x+ = W x + u(g(x)) + gamma sum_j F_ij ,  F_ij = sum over the pairs averaged before on the edge
//                                                   of w_ij (x_j - x_i) / (2 span) ,
// in units of the gradient as in exact_diffusion.h, whose remarks hold here too: it is exact under
// loss, crashes and joins, allows learning rates that change, and tau local steps add gamma F each.
// Exact diffusion averages after the step, and half as much, which allows larger steps: gamma < (1
// + the least eigenvalue of W) / L here, gamma < 2 / L there.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/average.h"
#include "optim/combine/flows.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class Extra final : public Algorithm<S> {
 public:
  Extra(std::span<const S> x, const std::shared_ptr<BufferPool>& pool, const Options& options,
        const WireForm& form)
      : x_(x, pool, form, options.aggregation), u_(x.size()), flows_(x.size()) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(const EdgeIds& ids) override { flows_.keep(x_.keep(ids)); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    // A refused step is zero, but F is still added: otherwise it would bias the other nodes.
    return learner.advance(x_.values(),
                           {.count = steps.count,
                            .learning_rate = steps.learning_rate,
                            .correction = flows_.scaled(),
                            .goes_on = true},
                           {.sum = u_});
  }
  Offer offer(std::span<const EdgePlace> to) override { return x_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool ends_round) override {
    MixResult result = flows_.absorb(x_, terms, {.gain = half_per_step});
    if (!ends_round) return result;
    axpy(S{1}, std::span<const S>(u_), x_.edit());
    std::ranges::fill(u_, S{0});
    return result;
  }

  State<S> state() override { return {.edges = {{"flow", &flows_.by_edge()}}}; }

 private:
  static double half_per_step(const MixTerm& term) { return per_step(term) / 2; }

  Average<S> x_;
  std::vector<S> u_;  // the steps of this round
  Flows<S> flows_;
};

}  // namespace starling::optim
