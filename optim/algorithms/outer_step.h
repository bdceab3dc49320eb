// OuterStep: treats the change of the model in a round, by local steps and averaging, as a
// gradient, and steps by it with momentum. With phi the model when the round began, x~ the model
// after averaging, Delta = phi - x~, alpha the outer learning rate, beta the outer momentum and
// gamma the learning rate of the round:
//   nesterov  v = beta v + Delta ;          x = phi - alpha (Delta + beta v)
//             (Douillard et al., DiLoCo: distributed low-communication training of language models,
//             2023, which averages over all nodes; here gossip takes its place)
//   slowmo    v = beta v + Delta / gamma ;  x = phi - alpha gamma v
//             (Wang, Tantia, Ballas, Rabbat, SlowMo: improving communication-efficient distributed
//             SGD with slow momentum, 2020)
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "optim/options.h"
#include "optim/state.h"

namespace starling::optim {

template <class S>
class OuterStep {
 public:
  // For `size` numbers. Kind none does nothing and allocates nothing.
  OuterStep(const Options& options, std::size_t size)
      : kind_(options.outer),
        alpha_(static_cast<S>(options.outer_learning_rate.value_or(is_slow() ? 1.0 : 0.7))),
        beta_(static_cast<S>(options.outer_momentum.value_or(is_slow() ? 0.7 : 0.9))),
        before_(kind_ == OuterKind::none ? 0 : size),
        v_(before_.size()) {}

  // A round begins at x.
  void begin(std::span<const S> x) {
    if (before_.empty()) return;
    std::ranges::copy(x, before_.begin());
    has_begun_ = true;
  }
  // Sets the learning rate of the round's local steps.
  void step(double learning_rate) { gamma_ = static_cast<S>(learning_rate); }
  // Turns x~ in x into the result of the outer step. x stays if no round has begun, or with slowmo
  // if its learning rate is 0.
  void end(std::span<S> x) {
    if (!std::exchange(has_begun_, false) || (is_slow() && !(gamma_ > 0))) return;
    const S unit = is_slow() ? gamma_ : S{1};
    const S now = is_slow() ? S{0} : S{1}, later = is_slow() ? gamma_ : beta_;
    for (std::size_t k = 0; k < v_.size(); ++k) {
      const S delta = before_[k] - x[k];
      v_[k] = beta_ * v_[k] + delta / unit;
      x[k] = before_[k] - alpha_ * (now * delta + later * v_[k]);
    }
  }
  // v.
  State<S> state() {
    if (v_.empty()) return {};
    return {.vectors = {{"v", v_}}};
  }

 private:
  bool is_slow() const { return kind_ == OuterKind::slowmo; }

  OuterKind kind_;
  S alpha_, beta_;
  std::vector<S> before_, v_;
  S gamma_ = 0;  // of the round that has begun
  bool has_begun_ = false;
};

}  // namespace starling::optim
