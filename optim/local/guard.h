// Guard: refuses the local steps of a node that diverges, before anybody is offered what comes of
// them. A step u from x is refused when x + u is not finite, or so far away that its square is not,
// or when
//   F(x + u) > 10 max(F(x_0), F(x_1), 0.1) ,
// F being the loss on a few held-out samples, x_0 the initial model and x_1 that of the first step,
// for a newcomer's is good already. Whoever is beyond that, by slow steps or by its neighbours, may
// still lead back, by steps that lower F and are not longer than usual or than ||x||. From far
// away good steps are long: a network that is wrecked as a whole comes back by them.
//
// F costs about half as much as a gradient, so it is asked for suspicious steps only: those twice
// as long as every one that was found good, and those from where the training loss is twice what it
// was at any of these. A sound run has a few in its first rounds.
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

  // From x to x + factor u.
  struct Step {
    std::span<const S> x, u;
    S factor = 1;
    double length = 0;  // ||factor u||
    double loss = 0;    // of the batch, at x
  };
  // The error says what would come of it.
  Result<void> check(const Step& step);
  // The node starts from somebody else's parameters: its next step is suspicious again.
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
  bool bears(double loss) const;
  void refer_to(std::span<const S> x);
  void refer_to_initial_model();

  LocalFunction<S>* function_;
  std::uint64_t seed_;
  double good_length_ = 0, good_loss_ = 0;  // the largest ||u|| and loss of those found good
  double reference_ = 0;  // max(F(x_0), F(x_1)) as far as they are finite and known
  bool knows_first_ = false, knows_initial_ = false;
};

}  // namespace starling::optim
