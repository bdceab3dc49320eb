// Relay: the trainer of a node without data. It needs a model of another node, or its own of an
// earlier life, and has the shape of that.
#pragma once

#include <functional>
#include <memory>

#include "base/time.h"
#include "optim/trainer.h"

namespace starling::optim {

// In the numbers of S: float or double.
template <class S>
std::unique_ptr<Trainer> make_relay(const Options& options, std::function<Time()> clock);

}  // namespace starling::optim
