// Batches: the order of a node's samples in training: pass by pass, each shuffled anew and cut into
// batches of one size. A remainder is dropped.
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
  // The next batch is of that size; the pass goes on.
  void resize(std::size_t size) { size_ = size; }
  // The samples changed: the next batch begins a pass.
  void reshuffle() { order_.clear(); }
  // Works for vectors of any number type. A restored order of another number of samples is dropped.
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
