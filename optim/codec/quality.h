// Quality: how much of a vector its messages carry, and the largest factor theta on the weight of
// an edge without divergence. For a message q that was encoded from v,
//   delta = 1 - ||v - q||^2 / ||v||^2 ,   m = .9 m + .1 delta ,   d = min(delta, m) ,
//   c = d / (2 - d)
// (m = 1 after the first vector, which is whole). Both ends take the smaller c of the two as theta:
// no setting is tuned. Alone, delta or m would at times be too large for compressors whose quality
// jumps.
#pragma once

#include <algorithm>
#include <optional>

namespace starling::optim {

class Quality {
 public:
  // Takes the delta of a message and returns its c, in [0, 1].
  double after(double delta) {
    constexpr double kMemory = 0.9;
    mean_ = mean_ ? kMemory * *mean_ + (1 - kMemory) * delta : delta;
    const double least = std::clamp(std::min(delta, *mean_), 0.0, 1.0);
    return least / (2 - least);
  }
  // m; 1 before the first message.
  double mean() const { return mean_.value_or(1); }

 private:
  std::optional<double> mean_;
};

}  // namespace starling::optim
