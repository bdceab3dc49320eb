// Guard: refuses the local steps of a node that diverges, before their result is offered. A step u
// from x is refused when x + u or its square is not finite, or when
//   F(x + u) > 10 max(F(x_0), F(x_1), 0.1) ,
// where F is the loss on a few held-out samples, x_0 the initial model and x_1 the model at the
// first step, which of a newcomer is good already. A node already above the limit may still take
// steps that lower F and are no longer than usual, or than ||x||: so a network that has diverged as
// a whole can recover.
//
// F costs about half as much as a gradient, so only suspicious steps are checked: those twice as
// long as any found good, and those from a training loss twice that of any found good. A sound run
// has a few in its first rounds.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "optim/local/objective.h"
#include "optim/state.h"

namespace starling::optim {

template <class S>
class Guard {
 public:
  // `function` outlives the guard; `seed` is that of the initial model.
  Guard(LocalFunction<S>& function, std::uint64_t seed) : function_(&function), seed_(seed) {}

  // The step from x to x + u.
  struct Step {
    std::span<const S> x;
    double length = 0;  // ||u||
    double loss = 0;    // of the batch, at x
  };
  // Whether the step must be checked.
  bool suspects(const Step& step) const;
  // `moved`: x + u. The error says what the step would do.
  Result<void> check(const Step& step, std::span<const S> moved);
  // The node starts from other parameters: its next step is suspicious again.
  void reset() { good_length_ = good_loss_ = 0; }
  State<S> state() {
    return {.own = {{"length", &good_length_},
                    {"loss", &good_loss_},
                    {"reference", &reference_},
                    {"knows-first", &knows_first_},
                    {"knows-initial", &knows_initial_}}};
  }

 private:
  double loss_at(std::span<const S> x);
  // Whether the loss is finite and below the limit.
  bool allows(double loss) const;
  void refer_to(std::span<const S> x);
  void refer_to_initial_model();

  LocalFunction<S>* function_;
  std::uint64_t seed_;
  double good_length_ = 0, good_loss_ = 0;  // the largest ||u|| and loss of those found good
  double reference_ = 0;  // max(F(x_0), F(x_1)) as far as they are finite and known
  bool knows_first_ = false, knows_initial_ = false;
};

}  // namespace starling::optim
