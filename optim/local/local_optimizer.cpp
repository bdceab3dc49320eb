#include "optim/local/local_optimizer.h"

#include <Eigen/Core>

namespace starling::optim {
namespace {

template <class S>
using Array = Eigen::Array<S, Eigen::Dynamic, 1>;
template <class S>
using View = Eigen::Map<Array<S>>;

template <class S>
View<S> view(std::span<S> values) {
  return View<S>(values.data(), static_cast<Eigen::Index>(values.size()));
}

template <class S>
std::span<S> numbers(Array<S>& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

template <class S>
class Sgd final : public LocalOptimizer<S> {
 public:
  void step(std::span<S> g, S gamma) override { view(g) *= -gamma; }
  void reset() override {}
};

template <class S>
class Momentum final : public LocalOptimizer<S> {
 public:
  Momentum(double beta, std::size_t dimension, bool nesterov)
      : beta_(static_cast<S>(beta)), nesterov_(nesterov), m_(static_cast<Eigen::Index>(dimension)) {
    m_.setZero();
  }
  void step(std::span<S> g, S gamma) override {
    m_ = beta_ * m_ + view(g);
    if (nesterov_)
      view(g) = -gamma * (view(g) + beta_ * m_);
    else
      view(g) = -gamma * m_;
  }
  void reset() override { m_.setZero(); }
  State<S> state() override { return {.vectors = {{"m", numbers(m_)}}}; }

 private:
  S beta_;
  bool nesterov_;
  Array<S> m_;
};

template <class S>
class Adam final : public LocalOptimizer<S> {
 public:
  Adam(double beta, double beta2, std::size_t dimension)
      : beta_(beta),
        beta2_(beta2),
        m_(static_cast<Eigen::Index>(dimension)),
        v_(static_cast<Eigen::Index>(dimension)) {
    reset();
  }
  void step(std::span<S> g, S gamma) override {
    const S b1 = static_cast<S>(beta_), b2 = static_cast<S>(beta2_);
    m_ = b1 * m_ + (1 - b1) * view(g);
    v_ = b2 * v_ + (1 - b2) * view(g).square();
    power1_ *= beta_;
    power2_ *= beta2_;
    const S scale = static_cast<S>(static_cast<double>(gamma) / (1 - power1_));
    const S root = static_cast<S>(1 / std::sqrt(1 - power2_));
    view(g) = -scale * m_ / (v_.sqrt() * root + static_cast<S>(1e-8));
  }
  void reset() override {
    m_.setZero();
    v_.setZero();
    power1_ = power2_ = 1;
  }
  // Saves the powers, not the number of steps: recomputed powers would round differently.
  State<S> state() override {
    return {.vectors = {{"m", numbers(m_)}, {"v", numbers(v_)}},
            .numbers = {{"power1", &power1_}, {"power2", &power2_}}};
  }

 private:
  double beta_, beta2_;
  double power1_ = 1, power2_ = 1;  // beta^t, beta2^t
  Array<S> m_, v_;
};

}  // namespace

template <class S>
std::unique_ptr<LocalOptimizer<S>> make_local_optimizer(const Options& options,
                                                        std::size_t dimension) {
  switch (options.local_optimizer) {
    case LocalOptimizerKind::sgd:
      return std::make_unique<Sgd<S>>();
    case LocalOptimizerKind::momentum:
      return std::make_unique<Momentum<S>>(options.momentum, dimension, false);
    case LocalOptimizerKind::nesterov:
      return std::make_unique<Momentum<S>>(options.momentum, dimension, true);
    case LocalOptimizerKind::adam:
    case LocalOptimizerKind::adamw:
      return std::make_unique<Adam<S>>(options.momentum, options.adam_beta2, dimension);
  }
  return nullptr;
}

template std::unique_ptr<LocalOptimizer<float>> make_local_optimizer(const Options&, std::size_t);
template std::unique_ptr<LocalOptimizer<double>> make_local_optimizer(const Options&, std::size_t);

}  // namespace starling::optim
