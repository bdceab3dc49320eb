// Exact diffusion (Yuan et al., Exact diffusion for distributed optimization and learning, 2019),
// with W~ = (I + W) / 2:
//   phi = x + u(g(x)) - y ;  x+ = W~ phi ;  y+ = y + phi - x+ ,  y = 0 at first.
// y is kept as what came over the edges, y_i = -sum_j F_ij (flows.h, c = 1/2), so that the y of all
// nodes add up to nothing whoever comes, goes or crashes; then all x agree and the sum of the
// gradients vanishes. With tau local steps each subtracts y / tau (local exact diffusion; Alghunaim
// 2024).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/flows.h"
#include "optim/strategy.h"

namespace starling::optim {

template <class S>
class ExactDiffusion final : public Strategy<S> {
 public:
  ExactDiffusion(std::span<const S> x, std::shared_ptr<BufferPool> pool, std::size_t local_steps)
      : x_(x, std::move(pool)), u_(x.size()), flows_(x.size()), local_steps_(local_steps) {}

  std::span<const S> model() const override { return x_.values(); }
  bool local(LocalStep<S>& step) override {
    const S part = S{1} / static_cast<S>(local_steps_);
    bool is_taken = true;
    // Refused, u is zero: one that did not subtract its y would make the others solve for it.
    for (std::size_t k = 0; k < local_steps_; ++k) {
      is_taken &= step.direction(x_.values(), u_);
      flows_.add_to(u_, part);
      axpy(S{1}, std::span<const S>(u_), x_.edit());
    }
    return is_taken;
  }
  SharedVector<S>& offered() override { return x_; }
  void absorbed() override {}
  void adopt(std::span<const S> x) override {
    std::ranges::copy(x, x_.edit().begin());
    flows_.clear();
  }
  double share() const override { return 0.5; }
  Flows<S>* flows() override { return &flows_; }

 private:
  SharedVector<S> x_;
  std::vector<S> u_;
  Flows<S> flows_;
  std::size_t local_steps_;
};

}  // namespace starling::optim
