// Gradient tracking (Di Lorenzo, Scutari, NEXT: in-network nonconvex optimization, 2016), x and y
// in one message [x + u(y), y]:
//   x+ = W (x + u(y)) ;  y+ = W y + g(x+) - g(x) ,  y = g(x) at first.
// y is kept as y_i = g_i + sum_j F_ij, where F_ij is the flow of y over the edge (flows.h, c = 1),
// so that the y of all nodes add up to the sum of the gradients whatever nodes come, go or crash. u
// is the local optimizer's step for y: every optimizer leads to the optimum. With tau local steps
// each is for g + sum_j F_ij, and the y that is sent is the mean of those tau vectors (K-GT; Liu,
// Lin, Koloskova, Stich, Decentralized gradient tracking with local steps, 2023). sum_j F_ij is
// added to the gradient and not to the step, so that adam sees the mean gradient.
#pragma once

#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/flows.h"

namespace starling::optim {

template <class S>
class GradientTracking final : public Algorithm<S> {
 public:
  GradientTracking(std::span<const S> x, const std::shared_ptr<BufferPool>& pool,
                   const Options& options, const WireForm& form)
      : size_(x.size()),
        offered_(with_room(x), pool, form, options.aggregation),
        flows_(x.size()) {}

  std::span<const S> model() const override { return offered_.values().first(size_); }
  void follow(const EdgeIds& ids) override { flows_.keep(offered_.keep(ids)); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    const std::span<S> x = offered_.edit().first(size_), y = offered_.edit().subspan(size_);
    // A refused g or u is zero, but y is still offered: otherwise it would bias the other nodes.
    Report report = learner.advance(x,
                                    {.count = steps.count,
                                     .learning_rate = steps.learning_rate,
                                     .added = flows_.scaled(static_cast<S>(1 / steps.weight)),
                                     .goes_on = true},
                                    {.end = x, .direction = y});
    if (steps.weight != 1)
      for (S& value : y) value *= static_cast<S>(steps.weight);
    return report;
  }
  Offer offer(std::span<const EdgePlace> to) override { return offered_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool) override {
    return flows_.absorb(offered_, terms, {});
  }

  State<S> state() override { return {.edges = {{"flow", &flows_.by_edge()}}}; }

 private:
  static std::vector<S> with_room(std::span<const S> x) {
    std::vector<S> both(x.begin(), x.end());
    both.resize(2 * x.size());
    return both;
  }

  std::size_t size_;
  Average<S> offered_;  // x and y; between absorb() and local() the y half is unused
  Flows<S> flows_;
};

}  // namespace starling::optim
