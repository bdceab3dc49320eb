#include "models/linear/gemm.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "base/prng.h"
#include "models/linear/kernels.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// The largest difference to the product by its definition.
template <class S>
double gemm_error(const Product& p) {
  const auto a = random_numbers<S>(p.rows * p.inner, 1);
  const auto b = random_numbers<S>(p.inner * p.columns, 2);
  const auto before = random_numbers<S>(p.rows * p.columns, 3);
  auto c = before;
  gemm(p, a.data(), b.data(), c.data());
  double worst = 0;
  for (std::size_t i = 0; i < p.rows; ++i)
    for (std::size_t j = 0; j < p.columns; ++j) {
      double sum = p.accumulate ? before[i * p.columns + j] : 0;
      for (std::size_t k = 0; k < p.inner; ++k)
        sum += static_cast<double>(p.a_transposed ? a[k * p.rows + i] : a[i * p.inner + k]) *
               static_cast<double>(p.b_transposed ? b[j * p.inner + k] : b[k * p.columns + j]);
      worst = std::max(worst, std::abs(sum - static_cast<double>(c[i * p.columns + j])));
    }
  return worst;
}

}  // namespace

TEST_CASE("Every form of gemm agrees with the definition of the product") {
  for (int form = 0; form < 8; ++form)
    for (const std::size_t columns : {1, 7, 33}) {
      const Product product{.rows = 5,
                            .columns = columns,
                            .inner = 19,
                            .a_transposed = (form & 1) != 0,
                            .b_transposed = (form & 2) != 0,
                            .accumulate = (form & 4) != 0};
      CHECK(gemm_error<float>(product) < 1e-5);
      CHECK(gemm_error<double>(product) < 1e-13);
    }
}

TEST_CASE("A large product starts no thread") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  const auto a = random_numbers<float>(512 * 512, 1);
  std::vector<float> c(512 * 512);
  gemm({.rows = 512, .columns = 512, .inner = 512}, a.data(), a.data(), c.data());
  CHECK(threads() == before);
}

TEST_CASE("Kernels do what their equations say") {
  const Extent extent{.rows = 2, .columns = 2};
  const std::vector<double> bias{1, -1};
  std::vector<double> z{-2, 3, 0.5, 0.5};
  add_bias(extent, true, bias.data(), z.data());
  CHECK(z == std::vector<double>{0, 2, 1.5, 0});
  std::vector<double> linear{-2, 3, 0.5, 0.5};
  add_bias(extent, false, bias.data(), linear.data());
  CHECK(linear == std::vector<double>{-1, 2, 1.5, -0.5});
  std::vector<double> delta{1, 2, 3, 4};
  mask_relu(extent, z.data(), delta.data());
  CHECK(delta == std::vector<double>{0, 2, 3, 0});
  std::vector<double> sums{10, 20};
  add_column_sums(extent, delta.data(), sums.data());
  CHECK(sums == std::vector<double>{13, 22});
  const std::vector<std::uint8_t> bytes{0, 255, 51};
  std::vector<double> wide(3);
  widen(bytes.data(), bytes.size(), 1.0 / 255, wide.data());
  CHECK(wide[1] == doctest::Approx(1.0));
  CHECK(wide[2] == doctest::Approx(0.2));
}
