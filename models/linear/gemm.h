// gemm: every dense product of the models. Row-major, tight leading dimensions, one thread.
#pragma once

#include <cstddef>

namespace starling::models {

// c = op(a) op(b) + beta c, where op(a) is rows x inner, op(b) inner x columns, c rows x columns.
// A transposed operand lies in memory as the transpose of what op gives: a is inner x rows.
struct Product {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t inner = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  bool accumulate = false;  // beta is 1, else 0 and c need not hold numbers
};

// Float goes to oneDNN, which picks the instruction set at run time; double goes to Eigen.
// REQUIRES that c overlaps neither a nor b.
void gemm(const Product& product, const float* a, const float* b, float* c);
void gemm(const Product& product, const double* a, const double* b, double* c);

// Makes oneDNN generate its code now, which takes some 40 ms of CPU, not at the first product.
void prepare_gemm();

}  // namespace starling::models
