// Step: training steps on one thread, through the algorithm as a node takes them, and the products
// they are made of. An argument names a directory with MNIST; without it images are drawn.
//   mlp BATCH | cnn BATCH | softmax BATCH | sparse BATCH    samples/s
//   flops BATCH                                 GFLOP/s of the mlp's products
//   gemm SIZE                                   GFLOP/s of one square product
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "base/prng.h"
#include "bench/measure.h"
#include "models/data/load.h"
#include "models/factory.h"
#include "models/linear/gemm.h"
#include "models/nets/layer_registry.h"
#include "optim/algorithms/algorithm.h"
#include "optim/local/local_learner.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.5;  // seconds
constexpr std::size_t kPixels = 784;
constexpr std::size_t kImages = 60'000;

using Shared = std::shared_ptr<const models::Data>;

// Noise of the shape of MNIST; the class is the tenth of the image that is brighter.
Shared draw_images() {
  auto data = std::make_shared<models::Data>();
  models::Dataset& train = data->train;
  train.rows = kImages;
  train.columns = kPixels;
  train.image = models::ImageShape{.height = 28, .width = 28};
  train.classes = 10;
  models::ByteFeatures bytes;
  Prng prng(1);
  for (std::size_t row = 0; row < kImages; ++row) {
    const std::size_t label = prng.below(10);
    train.labels.push_back(static_cast<std::int32_t>(label));
    for (std::size_t p = 0; p < kPixels; ++p)
      bytes.values.push_back(
          static_cast<std::uint8_t>(prng.below(p * 10 / kPixels == label ? 256 : 192)));
  }
  train.features = std::move(bytes);
  return data;
}

Shared load_images(const std::string& path) {
  if (path.empty()) return draw_images();
  auto data = models::load({.source = models::Source::idx, .path = path});
  ENSURE(data, "MNIST can be read");
  return std::make_shared<models::Data>(*std::move(data));
}

// The shape of a9a: 123 columns of 0 or 1, 14 of them 1 in a row. Column 0 to 60 speak for class 1.
Shared draw_sparse() {
  constexpr std::uint32_t kColumns = 123, kRows = 32'561, kEntries = 14;
  auto data = std::make_shared<models::Data>();
  models::Dataset& train = data->train;
  train.rows = kRows;
  train.columns = kColumns;
  train.classes = 2;
  models::SparseFeatures sparse;
  Prng prng(2);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    sparse.row_start.push_back(static_cast<std::uint32_t>(sparse.column.size()));
    std::uint32_t low = 0;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      const auto column =
          static_cast<std::uint32_t>(i * kColumns / kEntries + prng.below(kColumns / kEntries));
      low += column % 3 == 0 ? 1 : 0;
      sparse.column.push_back(column);
      sparse.value.push_back(1);
    }
    train.labels.push_back(low > kEntries / 3 ? 1 : 0);
  }
  sparse.row_start.push_back(static_cast<std::uint32_t>(sparse.column.size()));
  train.features = std::move(sparse);
  return data;
}

// LeNet-5 (LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition,
// 1998) with relu and the largest value of a square, on 28 x 28 pixels without padding.
std::vector<models::LayerSpec> lenet() {
  const std::vector<std::string> texts{"conv:6:5", "pool:2",    "conv:16:5",
                                       "pool:2",   "dense:120", "dense:84"};
  return *models::parse_layers(texts);
}

// A node's local half of a round: draw a batch, gradient, step.
class Task {
 public:
  Task(models::ModelKind kind, Shared data, std::size_t batch) {
    const models::ModelOptions model{.kind = kind, .hidden = {256, 128}, .layers = lenet()};
    models::DataOptions source;
    source.shard.kind = models::ShardChoice::Kind::all;
    auto objective = models::make_objective<float>(model, source, std::move(data));
    ENSURE(objective, "the model fits the data");
    optim::Options options;
    options.batch_size = batch;
    learner_.emplace(options, *std::move(objective), 1);
    learner_->assign({.members = {NodeId{1}}});
    std::vector<float> x(learner_->dimension());
    learner_->initialize(x, options.seed);
    algorithm_ = optim::make_algorithm<float>(options, x, std::make_shared<optim::BufferPool>());
  }

  double samples_per_second() {
    const double before = loss();
    optim::Report last;
    const double seconds = time_each(kWindow, [&] {
      last = algorithm_->local(*learner_, {1, kLearningRate});
      ENSURE(last.refusal.empty(), "a gradient is finite");
    });
    ENSURE(loss() < before, "training lowers the loss");
    return static_cast<double>(last.batch_samples) / seconds;
  }

 private:
  static constexpr double kLearningRate = 0.02;

  double loss() { return learner_->evaluate(algorithm_->model(), 2000).loss; }

  std::optional<optim::LocalLearner<float>> learner_;
  std::unique_ptr<optim::Algorithm<float>> algorithm_;
};

// Multiply-adds of a sample count twice. Forward, by the weights and by the inputs; the first layer
// has no derivative by its inputs.
double mlp_flops() {
  constexpr double kFirst = 784 * 256, kRest = 256 * 128 + 128 * 10;
  return 2 * (2 * kFirst + 3 * kRest);
}

double gemm_gflops(std::size_t size) {
  const std::vector<float> a(size * size, 1.0F), b(size * size, 0.5F);
  std::vector<float> c(size * size);
  const models::Product product{.rows = size, .columns = size, .inner = size};
  const double seconds =
      time_each(kWindow, [&] { models::gemm(product, a.data(), b.data(), c.data()); });
  for (float value : c)
    ENSURE(std::abs(value - 0.5F * static_cast<float>(size)) < 1e-2F, "the product is right");
  return 2 * std::pow(static_cast<double>(size), 3) / seconds * 1e-9;
}

}  // namespace
}  // namespace starling::bench

int main(int count, char** arguments) {
  using namespace starling;
  using namespace starling::bench;
  using models::ModelKind;
  const Shared images = load_images(count > 1 ? arguments[1] : "");
  const Shared sparse = draw_sparse();
  serve([&](const std::string& request) {
    Words words(request);
    const std::string kind = words.word();
    const std::size_t size = words.number();
    if (kind == "gemm") return report(request, gemm_gflops(size), "GFLOP/s");
    Task task = kind == "sparse"    ? Task(ModelKind::logistic, sparse, size)
                : kind == "cnn"     ? Task(ModelKind::net, images, size)
                : kind == "softmax" ? Task(ModelKind::softmax, images, size)
                                    : Task(ModelKind::mlp, images, size);
    const double rate = task.samples_per_second();
    if (kind == "flops") return report(request, rate * mlp_flops() * 1e-9, "GFLOP/s");
    report(request, rate, "samples/s");
  });
}
