// Batches: the order in which a node goes over its samples: pass by pass, each shuffled anew, and
// cut into batches of one size. What is left of a pass is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "optim/state.h"

namespace starling::optim {

class Batches {
 public:
  // Of `size` samples each; 0: of all. The order is drawn from `prng`.
  Batches(std::size_t size, Prng prng) : size_(size), prng_(prng) {}

  // Indices below `samples`, valid until the next call; empty for all of them.
  std::span<const std::uint32_t> next(std::size_t samples);
  // The samples changed: the next batch begins a pass.
  void reshuffle() { order_.clear(); }
  // Of any vectors' numbers. One whose order is of another number of samples begins a pass.
  template <class S>
  State<S> state() {
    return {.own = {{"random", &prng_.state()}, {"position", &position_}},
            .orders = {{"order", &order_}}};
  }

 private:
  std::size_t size_;
  Prng prng_;
  std::vector<std::uint32_t> order_;  // a shuffled pass over the samples
  std::uint64_t position_ = 0;
};

}  // namespace starling::optim
