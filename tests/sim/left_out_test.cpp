// Steps that are left out by chance: the optimum stays exact, because the correction of an exact
// algorithm belongs to the steps that are taken.
#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "optim/codec/codec.h"
#include "tests/lengths.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

// A part of the reference problem that gives no numbers by chance; its steps are then refused.
class Moody final : public optim::Objective<double> {
 public:
  Moody(std::size_t node, double share) : exact_(reference_objective({}, node)), share_(share) {}
  void assign(const optim::Shard&) override {}
  optim::DataSummary describe() const override { return exact_->describe(); }
  std::span<const optim::ParameterBlock> blocks() const override { return exact_->blocks(); }
  std::size_t samples() const override { return exact_->samples(); }
  void initialize(std::span<double> x, std::uint64_t) const override { std::ranges::fill(x, 0.0); }
  double loss_and_gradient(std::span<const double> x, std::span<const std::uint32_t> batch,
                           std::span<double> gradient) override {
    const double loss = exact_->loss_and_gradient(x, batch, gradient);
    if (!prng_.chance(share_)) return loss;
    std::ranges::fill(gradient, std::numeric_limits<double>::quiet_NaN());
    return loss;
  }
  optim::Evaluation evaluate(std::span<const double> x, std::size_t limit) override {
    return exact_->evaluate(x, limit);
  }

 private:
  std::unique_ptr<optim::Objective<double>> exact_;
  double share_;
  Prng prng_{7};
};

struct Way {
  const optim::AlgorithmRow* algorithm;
  topology::Kind kind;
  std::size_t steps;
  double share;      // of the steps that are left out
  bool is_one_node;  // or all leave them out
};

// The distance to the optimum of all at the end.
double error_of(const Way& way, std::uint64_t rounds) {
  optim::Options training = reference_training(0.1);
  training.algorithm = way.algorithm;
  training.codec = optim::wire_form_named("f64");
  training.local_steps.fixed = way.steps;
  Lockstep lockstep(way.kind, 16, training, [&](std::size_t node) {
    const double share = way.is_one_node && node != 5 ? 0 : way.share;
    return optim::make_trainer<double>(training, std::make_unique<Moody>(node, share), node,
                                       [] { return Time{}; });
  });
  lockstep.run(rounds);
  return lockstep.error();
}

}  // namespace

TEST_CASE("An exact algorithm ends at the optimum whatever steps are left out by chance") {
  const bool tries_all = tries_full();
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    if (!row.is_exact || row.loop == optim::LoopDuty::serve_gradients) continue;
    for (const topology::Kind kind : {topology::Kind::torus, topology::Kind::ring})
      for (const std::size_t steps : {5, 1})
        for (const bool is_one_node : {false, true}) {
          if (!tries_all && (kind == topology::Kind::ring || steps == 1)) continue;
          CAPTURE(row.name);
          CAPTURE(kind == topology::Kind::ring);
          CAPTURE(steps);
          CAPTURE(is_one_node);
          const double share = is_one_node ? 0.3 : 0.6;
          // Gradient tracking is slow there, by flows as by sums.
          const bool tracks = row.name == "gt" || row.needs.sums;
          const bool is_slow = tracks && steps == 5 && kind == topology::Kind::ring;
          const Way way{&row, kind, steps, share, is_one_node};
          CHECK(error_of(way, is_slow ? 6000 : 3000) < 1.4e-11);
        }
  }
}
