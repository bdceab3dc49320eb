// NoLoCo (Kolehmainen, Blagoev, Donaghy, Ersoy, Nies, NoLoCo: no-all-reduce low communication
// training method for large models, 2025): an outer step by the average of a few nodes, which also
// pulls their models together. With phi the model when the round began, u the sum of its local
// steps, and phi and u in one message,
//   v = beta v + alpha mix(u) - gamma (phi - mix(phi)) ;  phi+ = phi + v .
// The paper exchanges by pairs, as the schedule `matching` does (mix is then the mean of two);
// other graphs work too. If data differ by node it is biased like D-PSGD. Without the last term of
// v the models diverge.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/average.h"

namespace starling::optim {

template <class S>
class NoLoCo final : public Algorithm<S> {
 public:
  NoLoCo(std::span<const S> x, const std::shared_ptr<BufferPool>& pool, const Options& options,
         const WireForm& form)
      : size_(x.size()),
        offered_(with_room(x), pool, form, options.aggregation),
        before_(x.size()),
        v_(x.size()),
        alpha_(static_cast<S>(options.outer_learning_rate.value_or(0.7))),
        beta_(static_cast<S>(options.outer_momentum.value_or(0.5))),
        gamma_(static_cast<S>(options.outer_pull)) {}

  std::span<const S> model() const override { return offered_.values().first(size_); }
  void follow(const EdgeIds& ids) override { offered_.keep(ids); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    const std::span<S> x = offered_.edit().first(size_), u = offered_.edit().subspan(size_);
    std::ranges::copy(x, before_.begin());
    has_stepped_ = true;
    return learner.advance(x, {.count = steps.count, .learning_rate = steps.learning_rate},
                           {.sum = u});
  }
  Offer offer(std::span<const EdgePlace> to) override { return offered_.offer(to); }
  MixResult absorb(std::span<const MixTerm> terms, bool ends_round) override {
    MixResult result = offered_.absorb(terms);
    if (ends_round && std::exchange(has_stepped_, false)) step();
    return result;
  }
  State<S> state() override { return {.vectors = {{"v", v_}}}; }

 private:
  static std::vector<S> with_room(std::span<const S> x) {
    std::vector<S> both(x.begin(), x.end());
    both.resize(2 * x.size());
    return both;
  }
  void step() {
    const std::span<S> x = offered_.edit().first(size_), u = offered_.edit().subspan(size_);
    for (std::size_t k = 0; k < size_; ++k) {
      v_[k] = beta_ * v_[k] + alpha_ * u[k] - gamma_ * (before_[k] - x[k]);
      x[k] = before_[k] + v_[k];
    }
  }

  std::size_t size_;
  Average<S> offered_;  // phi and u; after absorb() mix(phi) and mix(u), until step()
  std::vector<S> before_, v_;
  S alpha_, beta_, gamma_;
  bool has_stepped_ = false;  // a round's local steps wait for its outer step
};

}  // namespace starling::optim
