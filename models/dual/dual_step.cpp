#include "models/dual/dual_step.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace starling::models {
namespace {

constexpr int kNewtonRounds = 100, kShorteningsMost = 40;
// A step ends where the decrement, about twice what is left to descend, is this part of a row's
// loss. Beneath kRounding values no longer tell whether a step descends.
constexpr double kDecrement = 1e-21, kRounding = 1e-13;
// Factors of an earlier point are used again while steps shrink the decrement so much.
constexpr double kShrinks = 0.1;

}  // namespace

DualStep::DualStep(RowMatrix columns, double strength, std::size_t outputs)
    : columns_(std::move(columns)),
      strength_(strength),
      outputs_(static_cast<Eigen::Index>(outputs)),
      intercept_(outputs) {
  ENSURE(strength > 0, "the dual needs l2 above 0");
}

void DualStep::learn(Loss loss, std::vector<RowTruth> truths) {
  const Eigen::Index rows = columns_.rows(), width = columns_.cols();
  ENSURE(truths.size() == static_cast<std::size_t>(rows), "each row has its truth");
  envelope_.emplace(loss, static_cast<std::size_t>(outputs_));
  truths_ = std::move(truths);
  columns_.conservativeResize(rows, width + 1);
  columns_.col(width).setOnes();
  scores_ = RowMatrix::Zero(rows, outputs_);
  weights_ = RowMatrix::Zero(width + 1, outputs_);
  factors_.reset();
}

RowMatrix DualStep::weights(const RowMatrix& theta) const {
  return -(columns_.leftCols(own_columns()).transpose() * theta) / strength_;
}

void DualStep::minimize(const RowMatrix& q, double c, RowMatrix& theta) {
  if (!envelope_) return minimize_columns(q, c, theta);
  Point point{.weights = weights_, .slopes = {}, .bends = {}, .value = 0};
  look(q, c, point);
  const double rows = static_cast<double>(columns_.rows());
  if (c != c_) factors_.reset();
  c_ = c;
  double before = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kNewtonRounds; ++step) {
    const RowMatrix slope = gradient(point);
    const auto decrement = [&] { return slope.cwiseProduct(descent(slope)).sum(); };
    if (!factors_ || decrement() > kShrinks * before) factorize(point);
    before = decrement();
    if (before <= kDecrement * rows || !descend(q, c, slope, point)) break;
  }
  weights_ = point.weights;
  for (Eigen::Index k = 0; k < outputs_; ++k)
    intercept_[static_cast<std::size_t>(k)] = weights_(weights_.rows() - 1, k);
  theta = std::move(point.slopes);
}

// W = -(A^T A + c lambda m)^-1 A^T Q, Theta = (Q + A W) / c.
void DualStep::minimize_columns(const RowMatrix& q, double c, RowMatrix& theta) {
  ENSURE(c > 0, "columns alone are learned with others");
  if (!factors_ || c != c_) {
    Eigen::MatrixXd gram = columns_.transpose() * columns_;
    gram.diagonal().array() += c * strength_;
    factors_.emplace(std::move(gram));
    c_ = c;
  }
  const Eigen::MatrixXd weights = -factors_->solve(columns_.transpose() * q);
  theta = (q + columns_ * weights) / c;
}

void DualStep::look(const RowMatrix& q, double c, Point& point) {
  const Eigen::Index rows = columns_.rows();
  const RowMatrix v = columns_ * point.weights + q;
  const auto outputs = static_cast<std::size_t>(outputs_);
  point.slopes.resize(rows, outputs_);
  point.bends.resize(rows, outputs_);
  point.value = strength_ / 2 * point.weights.topRows(own_columns()).squaredNorm();
  const auto row_of = [outputs](RowMatrix& matrix, Eigen::Index row) {
    return std::span(matrix.row(row).data(), outputs);
  };
  for (Eigen::Index r = 0; r < rows; ++r)
    point.value +=
        envelope_->at(truths_[static_cast<std::size_t>(r)], c, std::span(v.row(r).data(), outputs),
                      row_of(scores_, r), row_of(point.slopes, r), row_of(point.bends, r));
}

RowMatrix DualStep::gradient(const Point& point) const {
  RowMatrix gradient = columns_.transpose() * point.slopes;
  gradient.topRows(own_columns()) += strength_ * point.weights.topRows(own_columns());
  return gradient;
}

// The second derivative by the numbers of (W, b), row by row of that matrix.
void DualStep::factorize(const Point& point) {
  const Eigen::Index width = columns_.cols(), size = width * outputs_;
  Eigen::MatrixXd bend(size, size);
  const Eigen::VectorXd sums = point.bends.rowwise().sum();
  for (Eigen::Index k = 0; k < outputs_; ++k)
    for (Eigen::Index l = 0; l <= k; ++l) {
      Eigen::VectorXd of_rows = Eigen::VectorXd::Zero(columns_.rows());
      if (outputs_ > 1)
        of_rows = -point.bends.col(k).cwiseProduct(point.bends.col(l)).cwiseQuotient(sums);
      if (k == l) of_rows += point.bends.col(k);
      const Eigen::MatrixXd part = columns_.transpose() * of_rows.asDiagonal() * columns_;
      for (Eigen::Index i = 0; i < width; ++i)
        for (Eigen::Index j = 0; j < width; ++j)
          bend(i * outputs_ + k, j * outputs_ + l) = bend(j * outputs_ + l, i * outputs_ + k) =
              part(i, j);
    }
  for (Eigen::Index i = 0; i < (width - 1) * outputs_; ++i) bend(i, i) += strength_;
  // The same added to the scores of all classes changes nothing: of such b the one whose sum is 0.
  if (outputs_ > 1) bend.bottomRightCorner(outputs_, outputs_).array() += 1;
  factors_.emplace(std::move(bend));
}

RowMatrix DualStep::descent(const RowMatrix& gradient) const {
  const Eigen::VectorXd solved = factors_->solve(gradient.reshaped<Eigen::RowMajor>());
  return solved.reshaped<Eigen::RowMajor>(gradient.rows(), gradient.cols());
}

bool DualStep::descend(const RowMatrix& q, double c, const RowMatrix& gradient, Point& point) {
  constexpr double kArmijo = 1e-4;
  const RowMatrix step = descent(gradient);
  const double decrement = gradient.cwiseProduct(step).sum();
  const bool is_small = decrement <= kRounding * static_cast<double>(columns_.rows());
  double factor = 1;
  for (int shortening = 0; shortening < kShorteningsMost; ++shortening, factor /= 2) {
    Point next{.weights = point.weights - factor * step, .slopes = {}, .bends = {}, .value = 0};
    look(q, c, next);
    if (!is_small && !(next.value <= point.value - kArmijo * factor * decrement)) continue;
    point = std::move(next);
    return true;
  }
  return false;
}

}  // namespace starling::models
