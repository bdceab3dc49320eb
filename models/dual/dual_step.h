// DualStep: the exact local step of a site that holds some columns A of m rows, in the consensus on
// the slopes Theta of the loss, m rows and one column for each output. The problem of all sites is
//   min over W_i, b   sum_i lambda/2 |W_i|^2 + 1/m sum_r l(sum_i a_ir W_i + b, y_r) ,
// and m times its negative dual, with theta_r = l'(score of row r), is the sum over the sites of
//   phi_i(Theta) = |A_i^T Theta|^2 / (2 lambda m)   (at one of them: + sum_r l*(theta_r), where the
//                                                    columns of Theta add up to 0) ,
//   W_i = -A_i^T Theta / (lambda m) .
// A step is argmin phi(Theta) + c/2 |Theta|^2 - <Q, Theta>. By the dual once more it is that of a
// small regression (W, b) whose loss is the envelope of l (loss_envelope.h); without a target,
// ridge regression. That the dual of sharing is consensus: Boyd, Parikh, Chu, Peleato, Eckstein:
// Distributed optimization and statistical learning via ADMM, 2011, section 7.3.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "models/dual/loss_envelope.h"

namespace starling::models {

// Rows one after the other, as vectors of parameters and blocks of inputs are.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Numbers of W and b together that a step may solve for.
inline constexpr std::size_t kDualWeightsLimit = 2048;

class DualStep {
 public:
  // `columns`: A, m x p. `strength`: lambda m, above 0.
  DualStep(RowMatrix columns, double strength, std::size_t outputs);
  // From now on phi holds the target: one truth a row.
  void learn(Loss loss, std::vector<RowTruth> truths);

  // REQUIRES c > 0, or a target. `Q` and Theta are m x outputs.
  void minimize(const RowMatrix& q, double c, RowMatrix& theta);
  // W of these slopes, p x outputs.
  RowMatrix weights(const RowMatrix& theta) const;
  // A^T Theta / (lambda m) as scores: the gradient of phi without l*.
  RowMatrix scores_against(const RowMatrix& theta) const {
    return -(columns_.leftCols(own_columns()) * weights(theta));
  }
  // b after the last step, one number an output; zeros before. To be kept between lives.
  std::vector<double>& intercept() { return intercept_; }
  const std::vector<double>& intercept() const { return intercept_; }

 private:
  // A point (W, b) of the small regression, with what follows from it.
  struct Point {
    RowMatrix weights;  // p + 1 rows: W, then b
    RowMatrix slopes, bends;
    double value = 0;
  };

  Eigen::Index own_columns() const { return columns_.cols() - (envelope_ ? 1 : 0); }
  void minimize_columns(const RowMatrix& q, double c, RowMatrix& theta);
  void look(const RowMatrix& q, double c, Point& point);
  RowMatrix gradient(const Point& point) const;
  void factorize(const Point& point);
  RowMatrix descent(const RowMatrix& gradient) const;
  // Moves to the point with less; false: nothing less was found.
  bool descend(const RowMatrix& q, double c, const RowMatrix& gradient, Point& point);

  RowMatrix columns_;  // with a target: and a last one of ones
  double strength_;
  Eigen::Index outputs_;
  std::optional<LossEnvelope> envelope_;
  std::vector<RowTruth> truths_;
  RowMatrix scores_;  // u of the last step: the next one's guess
  RowMatrix weights_;
  std::vector<double> intercept_;
  std::optional<Eigen::LDLT<Eigen::MatrixXd>> factors_;
  double c_ = -1;  // of factors_
};

}  // namespace starling::models
