// The running statistics of batch normalization, which are parameters among others: where they end
// when nodes have different data.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "models/data/load.h"
#include "models/learner.h"
#include "models/nets/layer_registry.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::size_t kNodes = 5;
constexpr std::size_t kSide = 14;  // of the squares that images are pooled into, four each

models::LearnerOptions learner_options(const optim::AlgorithmRow* algorithm) {
  models::LearnerOptions options;
  const std::vector<std::string> layers{fmt::format("pool:{}", kSide), "norm"};
  options.model = {.kind = models::ModelKind::net,
                   .layers = *models::parse_layers(layers),
                   .precision = models::Precision::f64};
  options.data = {.source = models::Source::digits,
                  .partition = {.kind = models::Partition::Kind::by_label},
                  .samples = 50};
  options.optim = reference_training(0.1);
  options.optim.algorithm = algorithm;
  return options;
}

// The means of the pooled pixels of all images, and of their squares.
std::array<double, 2> moments_of(const models::Dataset& set) {
  const auto& bytes = std::get<models::ByteFeatures>(set.features);
  std::array<double, 2> moments{};
  const std::size_t squares = set.image->width / kSide;
  for (std::size_t row = 0; row < set.rows; ++row)
    for (std::size_t square = 0; square < squares * squares; ++square) {
      std::uint8_t most = 0;
      for (std::size_t i = 0; i < kSide * kSide; ++i) {
        const std::size_t y = square / squares * kSide + i / kSide;
        const std::size_t x = square % squares * kSide + i % kSide;
        most = std::max(most, bytes.values[row * set.columns + y * set.image->width + x]);
      }
      const double value = most / 255.0;
      const auto count = static_cast<double>(set.rows * squares * squares);
      moments[0] += value / count;
      moments[1] += value * value / count;
    }
  return moments;
}

}  // namespace

TEST_CASE("Running statistics end as those of the data of all nodes with every exact algorithm") {
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    if (!row.is_exact || row.needs.is_pairwise || row.loop == optim::LoopDuty::serve_gradients)
      continue;
    CAPTURE(row.name);
    models::LearnerOptions options = learner_options(&row);
    const auto data = std::make_shared<const models::Data>(*models::load(options.data));
    Lockstep lockstep(topology::Kind::ring, kNodes, options.optim, [&](std::size_t node) {
      options.data.shard = {models::ShardChoice::Kind::part, node, kNodes};
      return *models::make_trainer(options, data, fmt::format("node-{}", node),
                                   [] { return Time{}; });
    });
    lockstep.run(600);
    // weight, bias, running_mean and running_square of the one channel come first.
    const auto [mean, square] = moments_of(data->train);
    for (const std::size_t node : lockstep.present()) {
      const std::vector<double> x = lockstep.trainer(node).parameters();
      CHECK(x[2] == doctest::Approx(mean).epsilon(1e-9));
      CHECK(x[3] == doctest::Approx(square).epsilon(1e-9));
    }
  }
}
