#include "models/linear/sparse_logistic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace starling::models {
namespace {

const SparseFeatures& features_of(const Dataset& set) {
  return std::get<SparseFeatures>(set.features);
}

// gradient = l2 w for the weights and 0 for the bias; returns l2 / 2 |w|^2.
template <class S>
double start_gradient(std::span<const S> x, double l2, std::span<S> gradient) {
  std::ranges::fill(gradient, S{0});
  if (l2 == 0) return 0;
  double squares = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    gradient[i] = static_cast<S>(l2) * x[i];
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return l2 / 2 * squares;
}

// gradient += sum over rows of slopes[r] (x_r, 1)
template <class S>
void add_rows(const Selection& selection, const S* slopes, std::span<S> gradient) {
  const SparseFeatures& sparse = features_of(*selection.set);
  S bias = 0;
  for (std::size_t r = 0; r < selection.rows.size(); ++r) {
    const std::size_t end = sparse.row_start[selection.rows[r] + 1];
    for (std::size_t i = sparse.row_start[selection.rows[r]]; i < end; ++i)
      gradient[sparse.column[i]] += slopes[r] * static_cast<S>(sparse.value[i]);
    bias += slopes[r];
  }
  gradient.back() += bias;
}

// ||(x_r, 1)||
double row_norm(const Selection& selection, std::size_t r) {
  const SparseFeatures& sparse = features_of(*selection.set);
  const std::size_t end = sparse.row_start[selection.rows[r] + 1];
  double squares = 1;
  for (std::size_t i = sparse.row_start[selection.rows[r]]; i < end; ++i)
    squares += static_cast<double>(sparse.value[i]) * static_cast<double>(sparse.value[i]);
  return std::sqrt(squares);
}

}  // namespace

template <class S>
SparseLogistic<S>::SparseLogistic(double l2, Share share)
    : l2_(l2),
      share_(std::move(share)),
      blocks_{{"layer0.weight", {share_.train().columns, 1}, 0},
              {"layer0.bias", {1}, share_.train().columns}} {
  ENSURE(share_.train().classes == 2, "logistic regression tells two classes apart");
}

template <class S>
optim::DataSummary SparseLogistic<S>::describe() const {
  return {.samples = samples(),
          .shard = share_.description(),
          .schema = fmt::format("logistic {}-1 {} of {}, sparse", share_.train().columns,
                                sizeof(S) == sizeof(float) ? "f32" : "f64",
                                to_string(share_.options().source)),
          .notes = share_.notes()};
}

template <class S>
void SparseLogistic<S>::predict(std::span<const S> x, const Selection& selection) {
  const SparseFeatures& sparse = features_of(*selection.set);
  const std::size_t count = selection.rows.size();
  if (outputs_.size() < count) outputs_.resize(count);
  if (labels_.size() < count) labels_.resize(count);
  for (std::size_t r = 0; r < count; ++r) {
    const std::uint32_t row = selection.rows[r];
    const std::size_t end = sparse.row_start[row + 1];
    S sum = x.back();
    for (std::size_t i = sparse.row_start[row]; i < end; ++i)
      sum += x[sparse.column[i]] * static_cast<S>(sparse.value[i]);
    outputs_[r] = sum;
    labels_[r] = selection.set->labels[row];
  }
}

template <class S>
Score SparseLogistic<S>::take_score(std::size_t rows, S scale) {
  return take_loss<S>(Loss::logistic, {.rows = rows, .columns = 1}, {.labels = labels_.data()},
                      scale, outputs_.data());
}

template <class S>
double SparseLogistic<S>::loss_and_gradient(std::span<const S> x,
                                            std::span<const std::uint32_t> batch,
                                            std::span<S> gradient) {
  ENSURE(x.size() == this->dimension() && gradient.size() == this->dimension(),
         "a gradient is as long as the parameters");
  ENSURE(samples() > 0, "a gradient needs samples");
  const Selection selection = share_.batch(batch);
  const double count = static_cast<double>(selection.rows.size());
  predict(x, selection);
  const Score score = take_score(selection.rows.size(), static_cast<S>(1 / count));
  const double penalty = start_gradient(x, l2_, gradient);
  add_rows(selection, outputs_.data(), gradient);
  return score.loss / count + penalty;
}

// The gradient of a row's loss is its slope times (x_r, 1).
template <class S>
double SparseLogistic<S>::clipped_gradient(std::span<const S> x,
                                           std::span<const std::uint32_t> batch,
                                           const optim::Clip& clip, std::span<S> gradient) {
  ENSURE(x.size() == this->dimension() && gradient.size() == this->dimension(),
         "a gradient is as long as the parameters");
  start_gradient(x, l2_, gradient);
  const double sensitivity = clip.bound / clip.divisor;
  if (batch.empty()) return sensitivity;
  const Selection selection = share_.batch(batch);
  predict(x, selection);
  take_score(selection.rows.size(), S{1});
  for (std::size_t r = 0; r < selection.rows.size(); ++r) {
    const double norm = std::abs(static_cast<double>(outputs_[r])) * row_norm(selection, r);
    const double factor = norm > clip.bound ? clip.bound / norm : 1;
    outputs_[r] = std::isfinite(norm)
                      ? static_cast<S>(factor / clip.divisor * static_cast<double>(outputs_[r]))
                      : S{0};
  }
  add_rows(selection, outputs_.data(), gradient);
  return sensitivity;
}

template <class S>
optim::Evaluation SparseLogistic<S>::evaluate(std::span<const S> x, std::size_t limit) {
  ENSURE(x.size() == this->dimension(), "a model is as long as its dimension");
  const Selection selection = share_.evaluation(limit);
  const double count = static_cast<double>(selection.rows.size());
  predict(x, selection);
  const Score score = take_score(selection.rows.size(), S{1});
  optim::Evaluation evaluation{.samples = selection.rows.size(), .available = selection.available};
  evaluation.loss = score.loss / count;
  evaluation.accuracy = static_cast<double>(score.correct) / count;
  return evaluation;
}

template class SparseLogistic<float>;
template class SparseLogistic<double>;

}  // namespace starling::models
