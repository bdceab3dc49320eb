#include "tests/sim/reference.h"

#include <Eigen/Dense>
#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/prng.h"
#include "optim/relay.h"

namespace starling::test {
namespace {

double reference_number(std::uint64_t s, std::uint64_t k) {
  return static_cast<double>(mix64((s << 32) | k) >> 11) * 0x1.0p-53 * 2 - 1;
}

struct Local {
  Eigen::MatrixXd a;
  Eigen::VectorXd b;
};

Local reference_local(const ReferenceShape& p, std::size_t i) {
  const auto rows = static_cast<Eigen::Index>(p.m), columns = static_cast<Eigen::Index>(p.d);
  Local local{Eigen::MatrixXd(rows, columns), Eigen::VectorXd(rows)};
  Eigen::VectorXd x(columns);
  for (std::size_t c = 0; c < p.d; ++c)
    x[static_cast<Eigen::Index>(c)] =
        reference_number(p.seed + 900, c) + p.h * reference_number(p.seed + 500 + i, c);
  for (std::size_t r = 0; r < p.m; ++r)
    for (std::size_t c = 0; c < p.d; ++c)
      local.a(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) =
          reference_number(p.seed + i, r * p.d + c);
  local.b = local.a * x;
  for (std::size_t r = 0; r < p.m; ++r)
    local.b[static_cast<Eigen::Index>(r)] += p.noise * reference_number(p.seed + 700 + i, r);
  return local;
}

}  // namespace

std::vector<double> reference_optimum(const ReferenceShape& shape,
                                      const std::vector<std::size_t>& nodes) {
  std::vector<double> weights(shape.n);
  for (const std::size_t node : nodes) ++weights.at(node);
  return weighted_optimum(std::vector(shape.n, shape), weights);
}

std::vector<double> weighted_optimum(const std::vector<ReferenceShape>& shapes,
                                     const std::vector<double>& weights) {
  const auto size = static_cast<Eigen::Index>(shapes.front().d);
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
  for (std::size_t node = 0; node < shapes.size(); ++node) {
    if (weights[node] == 0) continue;
    const Local local = reference_local(shapes[node], node);
    const double weight = weights[node] / static_cast<double>(shapes[node].m);
    normal += weight * local.a.transpose() * local.a;
    right += weight * local.a.transpose() * local.b;
  }
  const Eigen::VectorXd x = normal.ldlt().solve(right);
  return {x.begin(), x.end()};
}

double curvature(const ReferenceShape& shape) {
  double most = 0;
  for (std::size_t node = 0; node < shape.n; ++node) {
    const Eigen::MatrixXd a = reference_local(shape, node).a;
    const double stretch = Eigen::JacobiSVD<Eigen::MatrixXd>(a).singularValues()[0];
    most = std::max(most, stretch * stretch / static_cast<double>(shape.m));
  }
  return most;
}

namespace {

// Of all nodes. Every trainer of a world asks for it, and it takes the cube of the dimension.
const std::vector<double>& whole_optimum(const ReferenceShape& shape) {
  static std::mutex mutex;
  static std::map<ReferenceShape, std::vector<double>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(shape);
  if (is_new) {
    std::vector<std::size_t> all(shape.n);
    std::iota(all.begin(), all.end(), 0U);
    found->second = reference_optimum(shape, all);
  }
  return found->second;
}

class Reference final : public optim::Objective<double> {
 public:
  Reference(const ReferenceShape& shape, std::size_t i)
      : shape_(shape),
        blocks_(optim::one_block(shape.d)),
        local_(reference_local(shape, i % shape.n)),
        optimum_(whole_optimum(shape)) {}

  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override {
    return {.samples = shape_.m,
            .shard = "its own problem",
            .schema = "reference",
            .optimum = optimum_};
  }
  std::span<const optim::ParameterBlock> blocks() const override { return blocks_; }
  std::size_t samples() const override { return shape_.m; }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 0.0); }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t>,
                           std::span<double> gradient) override {
    const Eigen::VectorXd residual = residual_at(x);
    Eigen::Map<Eigen::VectorXd>(gradient.data(), static_cast<Eigen::Index>(gradient.size())) =
        local_.a.transpose() * residual / static_cast<double>(shape_.m);
    return residual.squaredNorm() / (2.0 * static_cast<double>(shape_.m));
  }
  bool minimize(std::span<const double> c, double mu, std::span<double> x) override {
    const auto size = static_cast<Eigen::Index>(shape_.d);
    const double m = static_cast<double>(shape_.m);
    const Eigen::MatrixXd matrix =
        local_.a.transpose() * local_.a / m + mu * Eigen::MatrixXd::Identity(size, size);
    const Eigen::VectorXd right =
        local_.a.transpose() * local_.b / m - Eigen::Map<const Eigen::VectorXd>(c.data(), size);
    Eigen::Map<Eigen::VectorXd>(x.data(), size) = matrix.ldlt().solve(right);
    return true;
  }
  optim::Evaluation evaluate(std::span<const double> x, std::size_t) override {
    optim::Evaluation evaluation;
    evaluation.loss = residual_at(x).squaredNorm() / (2.0 * static_cast<double>(shape_.m));
    return evaluation;
  }

 private:
  Eigen::VectorXd residual_at(std::span<const double> x) const {
    return local_.a *
               Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())) -
           local_.b;
  }

  ReferenceShape shape_;
  std::vector<optim::ParameterBlock> blocks_;
  Local local_;
  const std::vector<double>& optimum_;
};

// All is computed in double, and only what comes of it is rounded.
template <class S>
class Rounded final : public optim::Objective<S> {
 public:
  Rounded(const ReferenceShape& shape, std::size_t i, bool has_closed_form)
      : exact_(shape, i), has_closed_form_(has_closed_form) {}

  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override { return exact_.describe(); }
  std::span<const optim::ParameterBlock> blocks() const override { return exact_.blocks(); }
  std::size_t samples() const override { return exact_.samples(); }
  void initialize(std::span<S> x, std::uint64_t) const override { std::ranges::fill(x, S{0}); }
  double loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t> batch,
                           std::span<S> gradient) override {
    std::vector<double> exact(x.size());
    const double loss = exact_.loss_and_gradient(widened(x), batch, exact);
    round(exact, gradient);
    return loss;
  }
  bool minimize(std::span<const S> c, double mu, std::span<S> x) override {
    std::vector<double> exact(x.size());
    if (!has_closed_form_ || !exact_.minimize(widened(c), mu, exact)) return false;
    round(exact, x);
    return true;
  }
  optim::Evaluation evaluate(std::span<const S> x, std::size_t limit) override {
    return exact_.evaluate(widened(x), limit);
  }

 private:
  static std::vector<double> widened(std::span<const S> x) { return {x.begin(), x.end()}; }
  static void round(std::span<const double> from, std::span<S> to) {
    std::ranges::transform(from, to.begin(), [](double value) { return static_cast<S>(value); });
  }

  Reference exact_;
  bool has_closed_form_;
};

}  // namespace

template <class S>
std::unique_ptr<optim::Objective<S>> reference_objective_in(const ReferenceShape& shape,
                                                            std::size_t i, bool has_closed_form) {
  return std::make_unique<Rounded<S>>(shape, i, has_closed_form);
}
template std::unique_ptr<optim::Objective<float>> reference_objective_in(const ReferenceShape&,
                                                                         std::size_t, bool);
template std::unique_ptr<optim::Objective<double>> reference_objective_in(const ReferenceShape&,
                                                                          std::size_t, bool);

std::unique_ptr<optim::Objective<double>> reference_objective(const ReferenceShape& shape,
                                                              std::size_t i) {
  return std::make_unique<Reference>(shape, i);
}

optim::Options reference_training(double learning_rate) {
  optim::Options options;
  options.learning_rate = learning_rate;
  options.batch_size = 0;
  options.codec = optim::wire_form_named("f64");
  return options;
}

sim::TrainerFactory reference_trainers(const optim::Options& options, ReferenceShape shape,
                                       std::size_t relays) {
  return [=](std::size_t index) {
    if (index < relays) return optim::make_relay<double>(options, [] { return Time{}; });
    return optim::make_trainer<double>(options, reference_objective(shape, index), index,
                                       [] { return Time{}; });
  };
}

sim::Options reference_world(std::size_t nodes, topology::Kind kind,
                             const optim::Options& training) {
  sim::Options options;
  options.nodes = nodes;
  options.base.topology.kind = kind;
  options.base.algorithm = optim::full_name(training);
  options.base.needs = needs_of(training);
  options.base.training_form = form_of(training);
  options.base.local_steps = training.local_steps;
  options.base.encodings = encodings_of(training);
  options.format = readable_format(training);
  options.aggregation = training.aggregation;
  if (options.base.needs.is_pairwise) options.base.schedule = gossip::schedule_named("pairwise");
  return options;
}

}  // namespace starling::test
