// Push-Pull (Pu, Shi, Xu, Nedic, Push-pull gradient methods for distributed optimization in
// networks, 2021), for edges that lead one way. With z = x - gamma y:
//   x+ = z + sum_j w_ij (z_j - z) ;   y+ = (what was given of the y of all) + g(x+) - g(x) ,
// y = g(x) at first. The sum of the y of all nodes is that of their gradients, as y goes by running
// sums (running_sums.h) that lost messages do not change; a missing z_j is left out. Where an edge
// closes, what lay on it is lost: all nodes begin anew (Needs::sums). With tau local steps each is
// for g + c, c = y - g(x) as of the last of them, and y is the mean of these tau vectors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/algorithms/algorithm.h"
#include "optim/combine/running_sums.h"
#include "optim/vector/kernels.h"

namespace starling::optim {

template <class S>
class PushPull final : public Algorithm<S> {
 public:
  PushPull(std::span<const S> x, std::shared_ptr<BufferPool> pool, const Options&,
           const WireForm& form)
      : x_(x.begin(), x.end()),
        correction_(x.size()),
        direction_(x.size()),
        y_(x.size()),
        gradient_(x.size()),
        pool_(std::move(pool)),
        format_(form.format) {}

  std::span<const S> model() const override { return x_; }
  void follow(const EdgeIds& ids) override { sums_.keep(ids); }
  Report local(Learner<S>& learner, const RoundSteps& steps) override {
    for (std::size_t k = 0; k < x_.size(); ++k)
      correction_[k] = static_cast<S>((y_[k] - gradient_[k]) / steps.weight);
    const Scaled<S> added{S{1}, correction_};
    Report report = learner.advance(x_,
                                    {.count = steps.count,
                                     .learning_rate = steps.learning_rate,
                                     .added = {&added, 1},
                                     .goes_on = true},
                                    {.end = x_, .direction = direction_});
    for (std::size_t k = 0; k < x_.size(); ++k) {
      y_[k] = steps.weight * static_cast<double>(direction_[k]);
      gradient_[k] = y_[k] - steps.weight * static_cast<double>(correction_[k]);
    }
    return report;
  }
  Offer offer(std::span<const EdgePlace> to) override {
    sums_.give(to, y_);
    return sums_.offer(to, x_, *format_, *pool_);
  }
  MixResult absorb(std::span<const MixTerm> terms, bool) override {
    MixResult result;
    std::vector<S> both(2 * x_.size()), pulled(x_.size());
    double sum = 0;
    for (const MixTerm& term : terms) {
      if (const std::string reason = sums_.read(term, *format_, both); !reason.empty()) {
        result.rejections.push_back({term.peer, reason});
        continue;
      }
      const std::span<const S> z = std::span(both).first(x_.size());
      axpy(static_cast<S>(term.weight), z, std::span(pulled));
      sum += term.weight;
      sums_.take(term.edge, std::span<const S>(both).subspan(x_.size()), y_);
    }
    for (std::size_t k = 0; k < x_.size(); ++k) x_[k] += pulled[k] - static_cast<S>(sum) * x_[k];
    return result;
  }

 private:
  std::vector<S> x_;
  std::vector<S> correction_, direction_;  // c, and the mean of g + c over the last local steps
  std::vector<double> y_;
  std::vector<double> gradient_;  // g(x) of the last local steps
  RunningSums<S> sums_;
  std::shared_ptr<BufferPool> pool_;
  const Format* format_;
};

}  // namespace starling::optim
