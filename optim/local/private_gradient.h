// PrivateGradient: the gradient of DP-SGD (Abadi et al.: Deep learning with differential privacy,
// 2016). Of a node's m samples each is drawn with probability q = b / m, for batches of b:
//   g = 1 / (q m) ( sum over the drawn i of g_i min(1, C / ||g_i||) + N(0, (sigma C)^2 I) )
// where g_i is the gradient of one sample, C = optim.clip and sigma = optim.noise. Terms that do
// not depend on the samples, such as l2, are added as they are. A step that draws no sample is
// noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/key_stream.h"
#include "optim/local/objective.h"
#include "optim/options.h"
#include "optim/privacy/ledger.h"
#include "optim/state.h"
#include "optim/workload.h"

namespace starling::optim {

template <class S>
class PrivateGradient {
 public:
  // REQUIRES optim.clip above 0. Without a key in the options the chance follows from the seed and
  // `stream`, which differs by node: for simulations.
  PrivateGradient(const Options& options, std::uint64_t stream);

  // Writes g and counts the step. Returns q m. REQUIRES samples.
  std::size_t write(Objective<S>& objective, std::span<const S> x, std::span<S> g);

  // Nothing without noise. `more`: as in Ledger.
  std::optional<PrivacySpent> spent(std::uint64_t more) const;
  // The chance is not part of it: noise that was drawn before must not be drawn again.
  State<S> state(Heir heir) { return ledger_.state<S>(heir); }
  // As Ledger::resume().
  void resume() { ledger_.resume(); }

 private:
  double clip_, noise_;
  std::size_t batch_size_;
  KeyStream chance_;
  Ledger ledger_;
  std::vector<std::uint32_t> drawn_;
};

extern template class PrivateGradient<float>;
extern template class PrivateGradient<double>;

}  // namespace starling::optim
