#include "models/linear/gemm.h"

#include <oneapi/dnnl/dnnl.h>

#include <Eigen/Core>
#include <array>

#include "base/check.h"
#include "models/linear/one_thread.h"

namespace starling::models {
namespace {

dnnl_dim_t dim(std::size_t size) {
  return static_cast<dnnl_dim_t>(size);
}

}  // namespace

void gemm(const Product& p, const float* a, const float* b, float* c) {
  stay_on_this_thread();
  const dnnl_status_t status = dnnl_sgemm(
      p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', dim(p.rows), dim(p.columns),
      dim(p.inner), 1.0F, a, dim(p.a_transposed ? p.rows : p.inner), b,
      dim(p.b_transposed ? p.inner : p.columns), p.accumulate ? 1.0F : 0.0F, c, dim(p.columns));
  ENSURE(status == dnnl_success, "sgemm refuses only impossible shapes");
}

void prepare_gemm() {
  const std::array<float, 4> unit{1, 0, 0, 1};
  std::array<float, 4> result{};
  gemm({.rows = 2, .columns = 2, .inner = 2}, unit.data(), unit.data(), result.data());
}

void gemm(const Product& p, const double* a, const double* b, double* c) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto map = [](const double* data, std::size_t rows, std::size_t columns) {
    return Eigen::Map<const Matrix>(data, static_cast<Eigen::Index>(rows),
                                    static_cast<Eigen::Index>(columns));
  };
  Eigen::Map<Matrix> out(c, static_cast<Eigen::Index>(p.rows),
                         static_cast<Eigen::Index>(p.columns));
  if (!p.accumulate) out.setZero();
  const auto left = p.a_transposed ? map(a, p.inner, p.rows) : map(a, p.rows, p.inner);
  const auto right = p.b_transposed ? map(b, p.columns, p.inner) : map(b, p.inner, p.columns);
  if (p.a_transposed && p.b_transposed)
    out.noalias() += left.transpose() * right.transpose();
  else if (p.a_transposed)
    out.noalias() += left.transpose() * right;
  else if (p.b_transposed)
    out.noalias() += left * right.transpose();
  else
    out.noalias() += left * right;
}

}  // namespace starling::models
