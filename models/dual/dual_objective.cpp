#include "models/dual/dual_objective.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

// F_i is so many times phi_i, so that optim.admm-penalty = 0.1 is near the best rho / m for each
// loss: 0.8 for squared loss, 8 for the others.
constexpr double kScaleSquared = 0.1 / 0.8, kScaleOfClasses = 0.1 / 8;
// Slopes of classes lie in (-1, 1); at the ends l* has no slope.
constexpr double kSlopeLeast = 1e-12;

// The slope of l* by a row's slopes: the scores at which l has these. Of classes up to a constant.
void add_scores(const LossEnvelope& loss, const RowTruth& truth, std::span<const double> slopes,
                double factor, double* to) {
  const auto within = [](double p) { return std::clamp(p, kSlopeLeast, 1 - kSlopeLeast); };
  if (loss.loss() == Loss::squared) {
    to[0] += factor * (slopes[0] + truth.target);
  } else if (loss.loss() == Loss::logistic) {
    const double p = within(slopes[0] + (truth.label == 0 ? 0 : 1));
    to[0] += factor * std::log(p / (1 - p));
  } else {
    for (std::size_t k = 0; k < slopes.size(); ++k)
      to[k] += factor *
               std::log(within(slopes[k] + (k == static_cast<std::size_t>(truth.label) ? 1 : 0)));
  }
}

}  // namespace

template <class S>
std::string DualObjective<S>::survey() const {
  return encode(site_rows(data_->train, options_.site, key_salt(options_)));
}

template <class S>
Result<void> DualObjective<S>::found(std::span<const std::string> surveys) {
  TRY(OwnColumns own, OwnColumns::found(model_, options_, data_->train, surveys));
  const std::size_t rows = own.rows(), outputs = own.outputs();
  step_.emplace(own.features(data_->train), own.card().l2 * static_cast<double>(rows), outputs);
  if (own.is_holder()) {
    truths_ = own.truths(data_->train);
    step_->learn(own.card().shape.loss, truths_);
  }
  blocks_ = {{.name = "slopes", .extents = {rows, outputs}, .offset = 0}};
  own_ = std::move(own);
  return {};
}

template <class S>
bool DualObjective<S>::has_target() const {
  return own_ && std::ranges::count(members_, node_id(own_->matched().site)) > 0;
}

template <class S>
double DualObjective<S>::scale() const {
  return own_->card().shape.loss == Loss::squared ? kScaleSquared : kScaleOfClasses;
}

template <class S>
optim::DataSummary DualObjective<S>::describe() const {
  optim::DataSummary summary{.samples = samples(),
                             .shard = "rows not matched yet",
                             .schema = fmt::format("columns of {}, not founded", options_.key)};
  if (!own_) return summary;
  const SiteRows& matched = own_->matched();
  summary.shard = fmt::format("{} of {} rows by {}, {} columns{}", with_commas(own_->rows()),
                              with_commas(data_->train.rows), options_.key, data_->train.columns,
                              own_->is_holder() ? " and the target" : "");
  std::uint64_t hash = stable_hash(matched.site);
  for (const std::uint64_t key : matched.keys) hash = mix64(hash ^ key);
  summary.schema = fmt::format("{} of {} rows {:016x} with other columns at each site, classes {}",
                               to_string(own_->card().kind), own_->rows(), hash,
                               fmt::join(matched.classes, ","));
  summary.notes = own_->notes();
  summary.preparation.unmatched = fmt::format("{}", fmt::join(own_->notes(), "; "));
  summary.model_of = [this](std::span<const double> x) {
    return own_->parameters(step_->weights(slopes(x)), step_->intercept());
  };
  summary.preparation.l2 = own_->card().l2;
  if (!has_target() && !members_.empty())
    summary.preparation.idle = fmt::format(
        "{} has the target and is not a member: nothing is learned until it is back", matched.site);
  if (!model_.l2) summary.preparation.l2_reason = "1 / rows, the default of scikit-learn";
  return summary;
}

template <class S>
RowMatrix DualObjective<S>::slopes(auto x) const {
  RowMatrix theta(static_cast<Eigen::Index>(own_->rows()),
                  static_cast<Eigen::Index>(own_->outputs()));
  ENSURE(x.size() == static_cast<std::size_t>(theta.size()), "each row has its slopes");
  std::ranges::transform(x, theta.data(), [](auto value) { return static_cast<double>(value); });
  return theta;
}

template <class S>
double DualObjective<S>::loss_and_gradient(std::span<const S> x, std::span<const std::uint32_t>,
                                           std::span<S> gradient) {
  const RowMatrix theta = slopes(x);
  RowMatrix by_theta = scale() * step_->scores_against(theta);
  const std::size_t outputs = own_->outputs();
  const Loss loss = own_->card().shape.loss;
  const LossEnvelope envelope(loss, outputs);
  double sum = 0;
  for (std::size_t r = 0; r < own_->rows(); ++r) {
    const std::span<const double> row(theta.data() + r * outputs, outputs);
    sum += loss_of_slopes(loss, row).loss;
    if (own_->is_holder())
      add_scores(envelope, truths_[r], row, scale(), by_theta.data() + r * outputs);
  }
  std::ranges::transform(std::span(by_theta.data(), x.size()), gradient.begin(),
                         [](double value) { return static_cast<S>(value); });
  return sum / static_cast<double>(own_->rows());
}

// F + <c, x> + mu/2 |x|^2 is the scale times phi + <c / scale, x> + (mu / scale) / 2 |x|^2. Columns
// without the target, or without neighbours, stay where they are.
template <class S>
bool DualObjective<S>::minimize(std::span<const S> c, double mu, std::span<S> x) {
  if (!has_target() || (!(mu > 0) && !own_->is_holder())) return true;
  const RowMatrix q = slopes(c) / -scale();
  RowMatrix theta;
  step_->minimize(q, mu / scale(), theta);
  std::ranges::transform(std::span(theta.data(), x.size()), x.begin(),
                         [](double value) { return static_cast<S>(value); });
  return true;
}

template <class S>
optim::Evaluation DualObjective<S>::evaluate(std::span<const S> x, std::size_t) {
  const RowMatrix theta = slopes(x);
  const std::size_t rows = own_->rows(), outputs = own_->outputs();
  const double count = static_cast<double>(rows);
  const Loss kind = own_->card().shape.loss;
  double loss = 0, right = 0, squares = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const double> row(theta.data() + r * outputs, outputs);
    const RowLoss of_row = loss_of_slopes(kind, row);
    loss += of_row.loss;
    right += of_row.is_right;
    if (kind != Loss::squared || !own_->is_holder()) continue;
    const double target = truths_[r].target;
    const double error = own_->amount(target + row[0]) - own_->amount(target);
    squares += error * error;
  }
  optim::Evaluation evaluation{.loss = loss / count, .samples = rows, .available = rows};
  if (kind != Loss::squared) evaluation.accuracy = right / count;
  if (kind == Loss::squared && own_->is_holder()) evaluation.rmse = std::sqrt(squares / count);
  return evaluation;
}

template <class S>
optim::State<S> DualObjective<S>::state() {
  optim::State<S> state;
  if (!own_ || !own_->is_holder()) return state;
  for (std::size_t k = 0; k < own_->outputs(); ++k)
    state.own.emplace_back(fmt::format("intercept{}", k), &step_->intercept()[k]);
  return state;
}

template class DualObjective<float>;
template class DualObjective<double>;

}  // namespace starling::models
