// LeftOut: counts what a node leaves out of its steps, such as those that are refused. In an exact
// algorithm the correction belongs to a step: one that is left out takes none of it, and then the
// limit is the optimum whatever is left out, and by which node. A node that takes no step for long
// would hold the others where it stands; it then takes the correction without a gradient, as a node
// without samples does, and the others go on to the optimum without it.
#pragma once

namespace starling::optim {

class LeftOut {
 public:
  // Of one step, or of all steps of a round. Returns whether its correction is added.
  bool takes_correction(bool is_taken) {
    in_row_ = is_taken ? 0 : in_row_ + 1;
    return is_taken || in_row_ > kLimit;
  }

 private:
  // Larger: a node that is broken holds the others for longer. Smaller: a node that leaves out many
  // steps by chance is taken for one without samples now and then, which moves the others.
  static constexpr int kLimit = 30;

  int in_row_ = 0;
};

}  // namespace starling::optim
