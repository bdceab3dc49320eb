// Objective: the local function F_i of a node, its data included. The trainer owns one and is the
// only caller; nothing here is thread safe, and one call uses one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "optim/job.h"

namespace starling::optim {

// <c, x> + (mu / 2) ||x - v||^2, which ADMM, FedProx and drift corrections add to any objective.
template <class S>
struct ExtraTerms {
  std::vector<S> linear;  // c; empty: zero
  std::vector<S> anchor;  // v; empty: zero
  S mu = 0;
};

template <class S>  // float or double
class Objective {
 public:
  virtual ~Objective() = default;

  // ---- what must agree between nodes before the first step
  // This node's share of the data's statistics (sums, categories), opaque to everyone else; empty
  // when the model needs none. Made from this node's own samples only.
  virtual std::string survey() const { return {}; }
  // Sets the feature statistics from the surveys of all founders, own included, in an agreed
  // order. Called once, before dimension() where survey() is not empty. A peer's survey is
  // outside data: a malformed one is an error, and changes nothing.
  virtual Result<void> found(std::span<const std::string> surveys) {
    static_cast<void>(surveys);
    return {};
  }
  // A survey on which alone a newcomer founds the same features. REQUIRES a foundation.
  virtual std::string foundation() const { return {}; }
  // Says which samples are this node's from now on. May be called at any time.
  virtual void assign(const Shard& shard) = 0;

  // ---- shape
  virtual std::size_t dimension() const = 0;  // P, numbers in x
  virtual std::size_t samples() const = 0;    // held by this node now; may be 0
  virtual std::string shard_description() const = 0;
  // A text that differs whenever averaging two models would be meaningless: kind, sizes, features.
  virtual std::string schema() const = 0;
  // What people should know of the foundation: where this node's data differ from it, a sentence
  // each.
  virtual std::vector<std::string> notes() const { return {}; }

  // ---- mathematics
  // The same x for the same seed on every node. REQUIRES x.size() == dimension().
  virtual void initialize(std::span<S> x, std::uint64_t seed) const = 0;
  // Mean loss over the batch (l2 term included) and its gradient, which is overwritten. `batch`
  // holds indices below samples(); empty means all samples. REQUIRES samples() > 0.
  virtual double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                                   std::span<S> gradient) = 0;
  // x = argmin F_i(x) + <c, x> + (mu / 2) ||x||^2 over all own samples. False, with x as it was,
  // where there is no closed form or the minimum is not unique. REQUIRES samples() > 0.
  virtual bool minimize(std::span<const S> c, double mu, std::span<S> x) {
    static_cast<void>(c), static_cast<void>(mu), static_cast<void>(x);
    return false;
  }
  // On the held-out set, or on the node's own samples where there is none; `limit` samples at
  // most, 0 for all.
  virtual Evaluation evaluate(std::span<const S> x, std::size_t limit) = 0;
  // The known minimiser of the mean of all F_i; empty when unknown.
  virtual std::span<const S> optimum() const { return {}; }
};

}  // namespace starling::optim
