// Quasi-global momentum (Lin et al., Quasi-global momentum: accelerating decentralized deep
// learning on heterogeneous data, 2021): the momentum follows how far the model moved in a round,
// averaging included, and not the node's own gradients alone.
//   s = x - gamma (beta m + g(x)) ;  x+ = s + sum_j w_ij (s_j - s) ;
//   m+ = beta m + (1 - beta) (x - x+) / gamma
// With tau local steps m stays during them, and the last line divides by tau gamma.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/average.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class QuasiGlobal final : public Algorithm<S> {
 public:
  QuasiGlobal(std::span<const S> x, const std::shared_ptr<BufferPool>& pool, const Options& options,
              const WireForm& form)
      : x_(x, pool, form, options.aggregation),
        before_(x.size()),
        m_(x.size()),
        beta_(static_cast<S>(options.momentum)) {}

  std::span<const S> model() const override { return x_.values(); }
  void follow(const EdgeIds& ids) override { x_.keep(ids); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    std::ranges::copy(x_.values(), before_.begin());
    steps_ = static_cast<S>(steps.count);
    const Scaled<S> momentum{beta_, m_};
    const std::span<S> x = x_.edit();
    Report report = learner.advance(x,
                                    {.count = steps.count,
                                     .learning_rate = steps.learning_rate,
                                     .added = {&momentum, 1},
                                     .is_plain = true},
                                    {.end = x});
    gamma_ = static_cast<S>(report.learning_rate.value_or(steps.learning_rate));
    return report;
  }
  Offer offer(std::span<const EdgePlace> to) override { return x_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool ends_round) override {
    MixResult result = x_.absorb(terms);
    if (ends_round) follow_model();
    return result;
  }
  State<S> state() override { return {.vectors = {{"m", m_}}}; }

 private:
  void follow_model() {
    if (!(gamma_ > 0)) return;
    const S rate = (1 - beta_) / (gamma_ * steps_);
    const std::span<const S> x = x_.values();
    for (std::size_t k = 0; k < m_.size(); ++k) m_[k] = beta_ * m_[k] + rate * (before_[k] - x[k]);
    gamma_ = 0;
  }

  Average<S> x_;
  std::vector<S> before_, m_;
  S beta_;
  S gamma_ = 0;  // of the steps that were offered; 0: none
  S steps_ = 1;  // their number
};

}  // namespace starling::optim
