// ADMM, relaxed and split by edge, which is asynchronous (Bastianello, Carli, Schenato, Todescato,
// Asynchronous distributed optimization over lossy networks via relaxed ADMM, 2021). With d edges:
//   x = argmin F(x) - <sum_j z_ij, x> + (rho d / 2) ||x||^2 ,
// exactly where the objective has a closed form, else by tau steps x -= eta (gradient of all that),
// eta = 1 / (1 / gamma + rho d). Each neighbour is sent its own q_ij; see duals.h.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/duals.h"

namespace starling::optim {

template <class S>
class Admm final : public Algorithm<S> {
 public:
  Admm(std::span<const S> x, std::shared_ptr<BufferPool> pool, const Options& options,
       const WireForm& form)
      : x_(x.begin(), x.end()),
        linear_(x.size()),
        pool_(std::move(pool)),
        duals_(x.size(), options.penalty, options.relaxation, form),
        rho_(options.penalty) {}

  std::span<const S> model() const override { return x_; }
  void follow(const EdgeIds& ids) override { duals_.keep(ids, x_); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    const double mu = rho_ * static_cast<double>(duals_.count());
    std::ranges::fill(linear_, S{0});
    duals_.add_to(linear_, S{-1});
    return learner.advance(x_,
                           {.count = steps.count,
                            .learning_rate = 1 / (1 / steps.learning_rate + mu),
                            .linear = linear_,
                            .mu = mu,
                            .is_plain = true,
                            .is_exact = true},
                           {.end = x_});
  }
  Offer offer(std::span<const EdgePlace> to) override { return duals_.offer(x_, to, *pool_); }
  MixResult absorb(std::span<const MixTerm> terms, bool) override {
    return {.rejections = duals_.absorb(terms)};
  }

  State<S> state() override { return {.edges = {{"dual", &duals_.by_edge()}}}; }

 private:
  std::vector<S> x_, linear_;
  std::shared_ptr<BufferPool> pool_;
  Duals<S> duals_;
  double rho_;
};

}  // namespace starling::optim
