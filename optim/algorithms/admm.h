// ADMM, relaxed and split by edge, which needs no clock (Bastianello, Carli, Schenato, Todescato,
// Asynchronous distributed optimization over lossy networks via relaxed ADMM, 2021). With d edges:
//   x = argmin F(x) - <sum_j z_ij, x> + (rho d / 2) ||x||^2 ,
// exactly where the objective has a closed form, else by tau steps x -= eta (gradient of all that),
// eta = 1 / (1 / gamma + rho d). Each neighbour is told a q_ij of its own; see duals.h.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/duals.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class Admm final : public Algorithm<S> {
 public:
  Admm(std::span<const S> x, std::shared_ptr<BufferPool> pool, const Options& options)
      : x_(x.begin(), x.end()),
        g_(x.size()),
        pool_(std::move(pool)),
        format_(options.codec),
        duals_(x.size(), options.penalty, options.relaxation),
        rho_(options.penalty),
        local_steps_(options.local_steps) {}

  std::span<const S> model() const override { return x_; }
  void follow(std::span<const std::uint64_t> edges) override { duals_.keep(edges, x_); }
  bool local(LocalStep<S>& step) override {
    const double mu = rho_ * static_cast<double>(duals_.count());
    ExtraTerms<S>& terms = step.terms();
    terms.linear.assign(x_.size(), S{0});
    duals_.add_to(terms.linear, S{-1});
    terms.mu = static_cast<S>(mu);
    if (!step.gradient(x_, g_)) return false;
    if (step.minimize(x_)) return true;
    const S eta = static_cast<S>(1 / (1 / step.learning_rate() + mu));
    for (std::size_t k = 0; k < local_steps_; ++k) {
      if (k > 0 && !step.gradient(x_, g_)) return false;
      if (!step.accepts(x_, g_, -eta)) return false;
      axpy(-eta, std::span<const S>(g_), x_);
    }
    return true;
  }
  Offer offer() override { return {.of_edge = duals_.tell(x_, *format_, *pool_)}; }
  MixResult absorb(std::span<const MixTerm> terms) override {
    return {.rejections = duals_.hear(terms, *format_)};
  }

 private:
  std::vector<S> x_, g_;
  std::shared_ptr<BufferPool> pool_;
  const Format* format_;
  Duals<S> duals_;
  double rho_;
  std::size_t local_steps_;
};

}  // namespace starling::optim
