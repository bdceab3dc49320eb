// ADMM, relaxed and split by edge, which needs no clock (Bastianello, Carli, Schenato, Todescato,
// Asynchronous distributed optimization over lossy networks via relaxed ADMM, 2021). With d edges:
//   x = argmin F(x) - <sum_j z_ij, x> + (rho d / 2) ||x||^2 ,
// exactly where the objective has a closed form, else by tau steps x -= eta (gradient of all that),
// eta = 1 / (1 / gamma + rho d). Each neighbour is told a q_ij of its own; see duals.h.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/strategy.h"
#include "optim/combine/duals.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class Admm final : public Strategy<S> {
 public:
  Admm(std::span<const S> x, std::shared_ptr<BufferPool> pool, const Options& options)
      : x_(x, std::move(pool)),
        g_(x.size()),
        duals_(x.size(), options.penalty, options.relaxation),
        rho_(options.penalty),
        local_steps_(options.local_steps) {}

  std::span<const S> model() const override { return x_.values(); }
  bool local(LocalStep<S>& step) override {
    const double mu = rho_ * static_cast<double>(duals_.count());
    ExtraTerms<S>& terms = step.terms();
    terms.linear.assign(x_.size(), S{0});
    duals_.add_to(terms.linear, S{-1});
    terms.mu = static_cast<S>(mu);
    if (!step.gradient(x_.values(), g_)) return false;
    if (step.minimize(x_.edit())) return true;
    const S eta = static_cast<S>(1 / (1 / step.learning_rate() + mu));
    for (std::size_t k = 0; k < local_steps_; ++k) {
      if (k > 0 && !step.gradient(x_.values(), g_)) return false;
      if (!step.accepts(x_.values(), g_, -eta)) return false;
      axpy(-eta, std::span<const S>(g_), x_.edit());
    }
    return true;
  }
  SharedVector<S>& offered() override { return x_; }
  void absorbed() override {}
  void adopt(std::span<const S> x) override {
    std::ranges::copy(x, x_.edit().begin());
    duals_.clear();
  }
  Duals<S>* duals() override { return &duals_; }

 private:
  SharedVector<S> x_;
  std::vector<S> g_;
  Duals<S> duals_;
  double rho_;
  std::size_t local_steps_;
};

}  // namespace starling::optim
