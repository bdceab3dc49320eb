// Every kind of layer in the registry, alone and after every other.
#include <algorithm>
#include <cmath>

#include "models/learner.h"
#include "models/nets/layer_registry.h"
#include "models/nets/network.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

constexpr std::size_t kRows = 5;
constexpr std::size_t kClasses = 3;
constexpr ImageShape kImage{.height = 10, .width = 9, .channels = 2};

NetworkShape net(const std::string& layers, ImageShape image = kImage) {
  NetworkShape shape;
  shape.input = SampleShape(image);
  shape.layers = layers_of(layers + fmt::format(",dense:{}", kClasses));
  shape.loss = Loss::cross_entropy;
  return shape;
}

// Each kind of layer with small numbers, which images of kImage have room for twice.
std::vector<std::string> every_layer() {
  std::vector<std::string> texts;
  for (const LayerRow& row : layer_rows())
    texts.push_back(to_string(LayerSpec{.row = &row, .numbers = {3, 2}}));
  return texts;
}

// Every sequence of one or two layers that fits.
std::vector<NetworkShape> every_network() {
  std::vector<NetworkShape> shapes;
  const auto add = [&](const std::string& layers) {
    if (plan_layers(net(layers))) shapes.push_back(net(layers));
  };
  for (const std::string& first : every_layer()) {
    add(first);
    for (const std::string& second : every_layer()) add(first + "," + second);
  }
  return shapes;
}

// The mean loss in training over two blocks of images, and its gradient.
template <class S>
struct Trial {
  explicit Trial(const NetworkShape& shape)
      : network(shape), inputs(random_numbers<S>(kRows * shape.input.size, 2)) {
    for (std::size_t n = 0; n < kRows; ++n)
      labels.push_back(static_cast<std::int32_t>(n % kClasses));
  }
  Block<S> block(std::size_t from, std::size_t to) const {
    return {.rows = to - from,
            .inputs = inputs.data() + from * network.shape().input.size,
            .truth = {.labels = labels.data() + from, .targets = nullptr}};
  }
  double loss(std::span<const S> x, std::span<S> gradient) {
    constexpr S kScale = S{1} / kRows;
    const Score first = network.add_gradient(x, block(0, 3), kScale, true, gradient);
    const Score second = network.add_gradient(x, block(3, kRows), kScale, false, gradient);
    return (first.loss + second.loss) / kRows;
  }

  Network<S> network;
  std::vector<S> inputs;
  std::vector<std::int32_t> labels;
};

bool is_statistic(const std::string& tensor) {
  return tensor.find("running_") != std::string::npos;
}

}  // namespace

TEST_CASE("Every legal sequence of layers has the gradient of its loss") {
  std::size_t count = 0;
  for (const NetworkShape& shape : every_network()) {
    CAPTURE(to_string(shape));
    Trial<double> trial(shape);
    std::vector<double> x = random_numbers<double>(dimension(shape), 1), unused(x.size());
    std::vector<double> gradient(x.size(), 1e9);  // it is overwritten
    trial.loss(x, gradient);
    for (const optim::ParameterBlock& block : tensors(shape))
      for (std::size_t i = block.offset; i < block.offset + block.size(); ++i) {
        if (is_statistic(block.name)) continue;
        constexpr double kStep = 1e-6;
        const double before = x[i];
        x[i] = before + kStep;
        const double above = trial.loss(x, unused);
        x[i] = before - kStep;
        const double below = trial.loss(x, unused);
        x[i] = before;
        CAPTURE(block.name);
        CHECK(gradient[i] ==
              doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-4).scale(0.1));
      }
    ++count;
  }
  // Of 4 + 16 all but those of images after a dense layer.
  CHECK(count == 18);
}

TEST_CASE("Every legal sequence of layers has in float what it has in double") {
  for (const NetworkShape& shape : every_network()) {
    CAPTURE(to_string(shape));
    Trial<double> exact(shape);
    Trial<float> rough(shape);
    const std::vector<float> y = random_numbers<float>(dimension(shape), 1);
    const std::vector<double> x(y.begin(), y.end());
    std::vector<double> gradient(x.size());
    std::vector<float> rough_gradient(x.size(), 1e9F);
    CHECK(rough.loss(y, rough_gradient) == doctest::Approx(exact.loss(x, gradient)).epsilon(1e-4));
    for (std::size_t i = 0; i < x.size(); ++i)
      CHECK(static_cast<double>(rough_gradient[i]) ==
            doctest::Approx(gradient[i]).epsilon(1e-3).scale(0.1));
    const auto outputs = exact.network.outputs(x, exact.block(0, kRows));
    const auto rough_outputs = rough.network.outputs(y, rough.block(0, kRows));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      CHECK(static_cast<double>(rough_outputs[i]) ==
            doctest::Approx(outputs[i]).epsilon(1e-3).scale(1));
  }
}

TEST_CASE("Running statistics move towards what a batch has and weights are drawn apart") {
  const NetworkShape shape = net("conv:3:2,norm");
  Trial<double> trial(shape);
  std::vector<double> x(dimension(shape)), gradient(x.size());
  trial.network.initialize(x, 1);
  for (const optim::ParameterBlock& block : tensors(shape)) {
    const auto numbers = std::span(x).subspan(block.offset, block.size());
    const bool is_one = block.name == "layer1.weight" || block.name == "layer1.running_square";
    if (is_one || block.name.find("weight") == std::string::npos)
      CHECK(std::ranges::count(numbers, is_one ? 1.0 : 0.0) == std::ssize(numbers));
    else
      CHECK(std::ranges::count(numbers, 0.0) == 0);
  }
  for (int step = 0; step < 2000; ++step) {
    trial.loss(x, gradient);
    for (const optim::ParameterBlock& block : tensors(shape))
      for (std::size_t i = block.offset; i < block.offset + block.size(); ++i)
        if (is_statistic(block.name)) x[i] -= 0.1 * gradient[i];
  }
  // Then the statistics of evaluation are those of training, over blocks of unequal rows.
  trial.loss(x, gradient);
  for (const optim::ParameterBlock& block : tensors(shape))
    if (is_statistic(block.name))
      for (std::size_t i = block.offset; i < block.offset + block.size(); ++i)
        CHECK(std::abs(gradient[i]) < 1e-12);
}

// Of PyTorch 1.13 in double, its images permuted to channels first and back before the dense layer.
TEST_CASE("A network has the loss and the gradient that PyTorch computes") {
  const NetworkShape shape =
      net("conv:3:3,norm,pool:2,conv:4:2,dense:6,norm", {.height = 8, .width = 8, .channels = 2});
  std::vector<double> x(dimension(shape)), inputs(4 * shape.input.size), gradient(x.size());
  REQUIRE(x.size() == 268);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.4 * std::sin(static_cast<double>(i) + 1);
  for (std::size_t j = 0; j < inputs.size(); ++j)
    inputs[j] = std::cos(0.7 * static_cast<double>(j));
  const std::vector<std::int32_t> labels{0, 1, 2, 0};
  const Block<double> block{.rows = 4, .inputs = inputs.data(), .truth = {.labels = labels.data()}};
  Network<double> network(shape);
  CHECK(network.add_gradient(x, block, 0.25, true, gradient).loss / 4 ==
        doctest::Approx(1.082339559807644).epsilon(1e-9));
  CHECK(network.score(x, block).loss / 4 == doctest::Approx(2.211947165843139).epsilon(1e-9));
  double squares = 0;
  for (const double value : gradient) squares += value * value;
  CHECK(std::sqrt(squares) == doctest::Approx(5.137757913049712).epsilon(1e-9));
  const std::vector<std::pair<std::size_t, double>> reference{
      {0, -1.43418336884},    {7, 0.0750440560564},    {29, -0.11752126938},
      {53, 0.0906901127576},  {57, 0.359464470888},    {60, 0.392167679032},
      {63, 0.767797310333},   {66, -0.516899978666},   {67, -0.421970103289},
      {114, 0.0150710772105}, {214, -0.0537160523429}, {228, -0.169821872488},
      {234, 0.018412271392},  {240, 0.715113499203},   {250, 0.0124504787674},
      {260, -0.102606515687}, {267, -0.0124767674869}};
  for (const auto& [place, value] : reference)
    CHECK(gradient[place] == doctest::Approx(value).epsilon(1e-8));
}

TEST_CASE("Pixels that fill no square are left out and the first of equal ones counts") {
  const NetworkShape shape = net("pool:2", {.height = 3, .width = 5, .channels = 1});
  const auto plans = plan_layers(shape);
  REQUIRE(plans);
  CHECK(plans->front().out.image == ImageShape{.height = 1, .width = 2, .channels = 1});
  const auto layer = plans->front().spec.row->make.in_double(plans->front());
  const std::vector<double> image{1, 2, 0, 0, 9,  //
                                  2, 1, 0, 0, 9,  //
                                  9, 9, 9, 9, 9};
  std::vector<double> largest(2), delta{5, 7}, below(15, 1e9);
  const Pass<double> pass{
      .parameters = nullptr, .rows = 1, .inputs = image.data(), .outputs = largest.data()};
  layer->forward(pass, Mode::training);
  CHECK(largest == std::vector<double>{2, 0});
  layer->backward(
      pass,
      {.outputs = delta.data(), .inputs = below.data(), .parameters = nullptr, .first = true});
  CHECK(below == std::vector<double>{0, 5, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("Layers that are wrong or do not fit are refused by name") {
  const auto misread = [](const std::string& text) {
    const auto layers = parse_layers(split(text, ','));
    REQUIRE(!layers);
    return layers.error().text;
  };
  CHECK(misread("conv:16:5,pol:2") ==
        "\"pol:2\" (layer 2): expected one of conv:CHANNELS:KERNEL, pool:SIZE, dense:UNITS, norm");
  CHECK(misread("conv:16") ==
        "\"conv:16\" (layer 1): expected conv:CHANNELS:KERNEL with CHANNELS from 1 to 1024 and "
        "KERNEL from 1 to 31");
  CHECK(misread("norm:3") == "\"norm:3\" (layer 1): expected norm");
  CHECK(misread("").starts_with("expected 1 to 32 layers"));
  for (const char* text : {"pool:0", "pool:-1", "pool:2x", "pool:", "dense:65537", "pool:2:2"})
    misread(text);
  const auto misfit = [](const std::string& layers) {
    const auto plans = plan_layers(net(layers, {.height = 12, .width = 28, .channels = 1}));
    REQUIRE(!plans);
    return plans.error().text;
  };
  CHECK(misfit("conv:16:5,pool:2,conv:32:5") ==
        "conv:32:5 (layer 3) gets images of 4 x 12; expected at least 5 x 5");
  CHECK(misfit("conv:16:5,pool:9") ==
        "pool:9 (layer 2) gets images of 8 x 24; expected at least 9 x 9");
  CHECK(misfit("dense:8,conv:16:5") ==
        "conv:16:5 (layer 2) gets 8 numbers without an order; expected images");
  CHECK(misfit("norm,dense:8,pool:2") ==
        "pool:2 (layer 3) gets 8 numbers without an order; expected images");
  const DataOptions digits{.source = Source::digits, .samples = 20};
  const auto unfit = make_objective<float>(
      {.kind = ModelKind::net, .layers = layers_of("pool:8,pool:4")}, digits, load_shared(digits));
  REQUIRE(!unfit);
  CHECK(unfit.error().text ==
        "model.layers: pool:4 (layer 2) gets images of 3 x 3; expected at least 4 x 4");
}

TEST_CASE("A net on data without images is refused with what to use") {
  const DataOptions houses{.source = Source::houses, .samples = 20};
  const auto net = make_objective<float>({.kind = ModelKind::net}, houses, load_shared(houses));
  REQUIRE(!net);
  CHECK(net.error().text ==
        "model.kind = net learns images, and data.source = houses has none; expected auto, linear, "
        "mlp");
}

TEST_CASE("Optimizers that would not keep running statistics are refused") {
  LearnerOptions options;
  options.model = {.kind = ModelKind::net, .layers = layers_of("conv:2:5,norm")};
  options.data = {.source = Source::digits, .samples = 20};
  const auto data = load_shared(options.data);
  for (const optim::LocalOptimizerKind kind : optim::local_optimizers()) {
    options.optim.local_optimizer = kind;
    const auto trainer = make_trainer(options, data, "node-0", [] { return Time{}; });
    CHECK(trainer.has_value() == optim::is_linear(kind));
    if (!trainer)
      CHECK(trainer.error().text ==
            "model.layers: the running statistics of norm (layer 2) need steps in proportion to "
            "their derivative; expected optim.local-optimizer = sgd, momentum or nesterov");
    options.model.layers = layers_of("conv:2:5");
    CHECK(make_trainer(options, data, "node-0", [] { return Time{}; }));
    options.model.layers = layers_of("conv:2:5,norm");
  }
}

TEST_CASE("The size of a model is known from its options and data") {
  const DataOptions digits{.source = Source::digits, .samples = 20};
  LearnerOptions options;
  options.data = digits;
  options.model = {.kind = ModelKind::net, .layers = layers_of("conv:3:5,norm,pool:4")};
  const auto data = load_shared(digits);
  CHECK(value_of(model_bytes(options, data->train)) ==
        4 * (3 * 25 + 3 + 4 * 3 + 6 * 6 * 3 * 10 + 10));
  options.model.layers = layers_of("pool:29");
  const auto misfit = model_bytes(options, data->train);
  REQUIRE(!misfit);
  CHECK(misfit.error().text ==
        "model.layers: pool:29 (layer 1) gets images of 28 x 28; expected at least 29 x 29");
  const Folder folder("model-bytes");
  options.model = {.kind = ModelKind::linear, .precision = Precision::f64};
  options.data = {.source = Source::csv,
                  .path = folder.write("a.csv", "size,kind,price\n1,a,1.5\n2,b,7.5\n3,a,8\n"),
                  .target = "price",
                  .task = Task::regression,
                  .weight = Weight::samples};
  // The number, two words and the bias.
  CHECK(value_of(model_bytes(options, load_shared(options.data)->train)) == 8 * 4);
}
