// Decentralised parallel SGD (Lian et al., Can decentralized algorithms outperform centralized
// algorithms?, 2017), in both orders of the two halves of a round:
//   dpsgd, adapt then combine:            s = x + u(g(x)) ;  x+ = s + sum_j w_ij (s_j - s)
//   dpsgd-pipelined, combine then adapt:  x+ = x + sum_j w_ij (x_j - x) + u(g(x))
// With tau local steps, u is the sum of tau steps taken one after another. An outer step may follow
// the first (optim/algorithms/outer_step.h). The pipelined form keeps u apart from x, which is
// under way meanwhile.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/algorithms/outer_step.h"
#include "optim/combine/average.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class Dpsgd final : public Algorithm<S> {
 public:
  Dpsgd(std::span<const S> x, const std::shared_ptr<BufferPool>& pool, const Options& options,
        const WireForm& form)
      : x_(x, pool, form, options.aggregation), outer_(options, x.size()) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(const EdgeIds& ids) override { x_.keep(ids); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    const std::span<S> x = x_.edit();
    outer_.begin(x);
    Report report = learner.advance(x, {.count = steps.count, .learning_rate = steps.learning_rate},
                                    {.end = x});
    outer_.step(report.learning_rate.value_or(steps.learning_rate));
    return report;
  }
  Offer offer(std::span<const EdgePlace> to) override { return x_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool ends_round) override {
    MixResult result = x_.absorb(terms);
    if (ends_round) outer_.end(x_.edit());
    return result;
  }
  State<S> state() override { return outer_.state(); }

 private:
  Average<S> x_;
  OuterStep<S> outer_;
};

template <class S>
class DpsgdPipelined final : public Algorithm<S> {
 public:
  DpsgdPipelined(std::span<const S> x, const std::shared_ptr<BufferPool>& pool,
                 const Options& options, const WireForm& form)
      : x_(x, pool, form, options.aggregation), u_(x.size()) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(const EdgeIds& ids) override { x_.keep(ids); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    return learner.advance(
        x_.values(), {.count = steps.count, .learning_rate = steps.learning_rate}, {.sum = u_});
  }
  Offer offer(std::span<const EdgePlace> to) override { return x_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool ends_round) override {
    MixResult result = x_.absorb(terms);
    if (!ends_round) return result;
    axpy(S{1}, std::span<const S>(u_), x_.edit());
    std::ranges::fill(u_, S{0});
    return result;
  }

 private:
  Average<S> x_;
  std::vector<S> u_;
};

}  // namespace starling::optim
