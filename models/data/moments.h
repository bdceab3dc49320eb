// Moments: count, mean and sum of squared deviations from the mean of some numbers. Unlike plain
// sums of squares they stay exact to rounding however far the numbers lie from 0.
#pragma once

#include <cmath>

namespace starling::models {

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;

  void add(double value) {
    count += 1;
    const double before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }

  // Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm, 1979.
  // n = n_a + n_b, d = mean_b - mean_a:
  //   mean = mean_a + d n_b / n,  squares = squares_a + squares_b + d^2 n_a n_b / n
  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count;
    const double difference = other.mean - mean;
    mean += difference * (other.count / total);
    squares += other.squares + difference * difference * (count * (other.count / total));
    count = total;
  }

  // Population standard deviation; 0 for a constant or for nothing.
  double deviation() const { return count > 0 ? std::sqrt(squares / count) : 0; }
};

}  // namespace starling::models
