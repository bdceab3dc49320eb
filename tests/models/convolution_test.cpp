#include "models/linear/convolution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/prng.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

std::vector<ConvolutionShape> some_shapes() {
  Prng prng(3);
  std::vector<ConvolutionShape> shapes;
  for (int i = 0; i < 16; ++i) {
    const std::size_t kernel = 1 + prng.below(7);
    shapes.push_back({.image = {.height = kernel + prng.below(12),
                                .width = kernel + prng.below(12),
                                .channels = 1 + prng.below(20)},
                      .channels = 1 + prng.below(40),
                      .kernel = kernel,
                      .relu = prng.chance(0.5)});
  }
  return shapes;
}

template <class S>
struct Results {
  std::vector<S> outputs, below, gradient;
};

template <class S>
Results<S> convolve(Convolution<S>& convolution, const ConvolutionShape& shape, std::size_t rows) {
  const auto as_s = [](const std::vector<float>& from) {
    return std::vector<S>(from.begin(), from.end());
  };
  const auto images = as_s(random_numbers<float>(rows * shape.image.size(), 1));
  const auto parameters = as_s(random_numbers<float>(shape.weights() + shape.channels, 2));
  const auto delta = as_s(random_numbers<float>(rows * shape.outputs().size(), 3));
  Results<S> results{std::vector<S>(delta.size()), std::vector<S>(images.size()),
                     std::vector<S>(parameters.size(), 1e9)};
  convolution.forward(rows, images.data(), parameters.data(), results.outputs.data());
  convolution.backward(rows, delta.data(), parameters.data(), results.below.data());
  // Twice the gradient: overwritten, then added.
  for (const bool first : {true, false})
    convolution.add_gradient(rows, images.data(), delta.data(), first, results.gradient.data());
  return results;
}

double largest_error(const std::vector<double>& exact, const std::vector<float>& rough) {
  double worst = 0, scale = 1;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    worst = std::max(worst, std::abs(exact[i] - static_cast<double>(rough[i])));
    scale = std::max(scale, std::abs(exact[i]));
  }
  return worst / scale;
}

}  // namespace

TEST_CASE("A convolution of one square is the product of its definition") {
  const ConvolutionShape shape{
      .image = {.height = 2, .width = 3, .channels = 2}, .channels = 1, .kernel = 2};
  Convolution<double> convolution(shape);
  // W[0, c, i, j] = 1 to 8, b = 0.5; pixel (y, x) has channels that count from 0.
  const std::vector<double> parameters{1, 2, 3, 4, 5, 6, 7, 8, 0.5};
  const std::vector<double> image{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<double> outputs(2);
  convolution.forward(1, image.data(), parameters.data(), outputs.data());
  const double first = 1 * 0 + 2 * 2 + 3 * 6 + 4 * 8 + 5 * 1 + 6 * 3 + 7 * 7 + 8 * 9 + 0.5;
  CHECK(outputs == std::vector<double>{first, first + 2 * 36});
}

TEST_CASE("Convolutions of every shape have in float what they have in double") {
  for (const ConvolutionShape& shape : some_shapes()) {
    CAPTURE(shape.kernel);
    CAPTURE(shape.image.channels);
    CAPTURE(shape.channels);
    Convolution<double> exact(shape);
    Convolution<float> rough(shape);
    for (const std::size_t rows : {3, 1, 3}) {
      const auto expected = convolve<double>(exact, shape, rows);
      const auto results = convolve<float>(rough, shape, rows);
      CHECK(largest_error(expected.outputs, results.outputs) < 1e-5);
      CHECK(largest_error(expected.below, results.below) < 1e-5);
      CHECK(largest_error(expected.gradient, results.gradient) < 1e-5);
    }
  }
}

TEST_CASE("A convolution forgets old numbers of rows and starts no thread") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  const ConvolutionShape shape{
      .image = {.height = 12, .width = 12, .channels = 3}, .channels = 8, .kernel = 5};
  Convolution<float> convolution(shape);
  for (std::size_t rows = 1; rows < 20; ++rows) convolve<float>(convolution, shape, rows);
  const auto again = convolve<float>(convolution, shape, 1);
  Convolution<float> fresh(shape);
  CHECK(convolve<float>(fresh, shape, 1).outputs == again.outputs);
  CHECK(threads() == before);
}
