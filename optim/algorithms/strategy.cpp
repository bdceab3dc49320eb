#include "optim/algorithms/strategy.h"

#include "optim/algorithms/admm.h"
#include "optim/algorithms/adpsgd.h"
#include "optim/algorithms/dpsgd.h"
#include "optim/algorithms/exact_diffusion.h"
#include "optim/algorithms/gradient_tracking.h"
#include "optim/algorithms/pairwise_ed.h"
#include "optim/algorithms/qg.h"

namespace starling::optim {

template <class S>
std::unique_ptr<Strategy<S>> make_strategy(const Options& options, std::span<const S> x,
                                           std::shared_ptr<BufferPool> pool) {
  switch (options.algorithm) {
    case Algorithm::automatic:
      break;
    case Algorithm::dpsgd:
      return std::make_unique<Dpsgd<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::dpsgd_pipelined:
      return std::make_unique<DpsgdPipelined<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::qg:
      return std::make_unique<QuasiGlobal<S>>(x, std::move(pool), options.momentum,
                                              options.local_steps);
    case Algorithm::ed:
      return std::make_unique<ExactDiffusion<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::gt:
      return std::make_unique<GradientTracking<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::adpsgd:
      return std::make_unique<Adpsgd<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::pairwise_ed:
      return std::make_unique<PairwiseEd<S>>(x, std::move(pool), options.local_steps);
    case Algorithm::admm:
      return std::make_unique<Admm<S>>(x, std::move(pool), options);
  }
  return nullptr;
}

template std::unique_ptr<Strategy<float>> make_strategy(const Options&, std::span<const float>,
                                                        std::shared_ptr<BufferPool>);
template std::unique_ptr<Strategy<double>> make_strategy(const Options&, std::span<const double>,
                                                         std::shared_ptr<BufferPool>);

}  // namespace starling::optim
