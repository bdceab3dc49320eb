// LocalOptimizer: turns a gradient into the step u a node takes on its own, u = step(g).
//   sgd        u = -gamma g
//   momentum   m = beta m + g ; u = -gamma m                    (heavy ball; Polyak 1964)
//   nesterov   m = beta m + g ; u = -gamma (g + beta m)         (Sutskever et al. 2013)
//   adam       m = beta m + (1-beta) g ; v = beta2 v + (1-beta2) g^2 ;
//              u = -gamma m^ / (sqrt(v^) + 1e-8), ^ corrected for the start (Kingma, Ba 2015)
//   adamw      as adam; its weight decay is no part of g: the caller adds -gamma lambda x to u
//              (Loshchilov, Hutter, Decoupled weight decay regularization, 2019)
#pragma once

#include <memory>
#include <span>

#include "optim/options.h"
#include "optim/state.h"

namespace starling::optim {

template <class S>
class LocalOptimizer {
 public:
  virtual ~LocalOptimizer() = default;
  // Overwrites g with u for the learning rate `gamma`.
  virtual void step(std::span<S> g, S gamma) = 0;
  // Forgets its state.
  virtual void reset() = 0;
  // An optimizer with the restored state goes on, bit for bit, as the one that was saved.
  virtual State<S> state() { return {}; }
};

template <class S>
std::unique_ptr<LocalOptimizer<S>> make_local_optimizer(const Options& options,
                                                        std::size_t dimension);

}  // namespace starling::optim
