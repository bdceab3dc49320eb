#include "models/linear/weighted_objective.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "models/data/dataset.h"

namespace starling::models {
namespace {

struct Weighted {
  double samples = 0;
  std::string survey;
};

Result<Weighted> parse(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto samples = parse_number(std::string_view(text).substr(0, colon));
  if (colon == std::string::npos || !samples || !(*samples >= 0 && *samples <= kRowsLimit))
    return fail("a survey names no number of samples; data.weight must be the same on every node");
  return Weighted{*samples, text.substr(colon + 1)};
}

}  // namespace

template <class S>
std::string WeightedObjective<S>::survey() const {
  return fmt::format("{}:{}", inner_->samples(), inner_->survey());
}

template <class S>
Result<void> WeightedObjective<S>::found(std::span<const std::string> surveys) {
  double sum = 0;
  for (const std::string& text : surveys) {
    TRY(const Weighted weighted, parse(text));
    sum += weighted.samples;
  }
  TRY(const std::vector<std::string> inner, without_weights(surveys));
  if (sum == 0) return fail("no node has a sample");
  if (!inner_->survey().empty()) TRY_DO(inner_->found(inner));
  mean_samples_ = sum / static_cast<double>(surveys.size());
  return {};
}

template <class S>
std::string WeightedObjective<S>::foundation() const {
  return fmt::format("{}:{}", mean_samples_, inner_->foundation());
}

template <class S>
double WeightedObjective<S>::weight() const {
  return static_cast<double>(inner_->samples()) / mean_samples_;
}

template <class S>
optim::DataSummary WeightedObjective<S>::describe() const {
  optim::DataSummary summary = inner_->describe();
  if (mean_samples_ > 0) summary.shard += fmt::format(", of weight {:.3g}", weight());
  summary.schema += ", weighted by samples";
  summary.optimum = {};  // that of the mean over nodes
  return summary;
}

template <class S>
std::span<const optim::ParameterBlock> WeightedObjective<S>::blocks() const {
  if (mean_samples_ == 0) return {};
  return inner_->blocks();
}

template <class S>
double WeightedObjective<S>::loss_and_gradient(std::span<const S> x,
                                               std::span<const std::uint32_t> batch,
                                               std::span<S> gradient) {
  const double loss = inner_->loss_and_gradient(x, batch, gradient);
  const S factor = static_cast<S>(weight());
  for (S& value : gradient) value *= factor;
  return loss;
}

template <class S>
double WeightedObjective<S>::clipped_gradient(std::span<const S> x,
                                              std::span<const std::uint32_t> batch,
                                              const optim::Clip& clip, std::span<S> gradient) {
  const double sensitivity = inner_->clipped_gradient(x, batch, clip, gradient);
  const S factor = static_cast<S>(weight());
  for (S& value : gradient) value *= factor;
  return weight() * sensitivity;
}

// argmin w F(x) + <c, x> + (mu / 2) ||x||^2 = argmin F(x) + <c / w, x> + (mu / 2 w) ||x||^2
template <class S>
bool WeightedObjective<S>::minimize(std::span<const S> c, double mu, std::span<S> x) {
  std::vector<S> linear(c.begin(), c.end());
  for (S& value : linear) value /= static_cast<S>(weight());
  return inner_->minimize(linear, mu / weight(), x);
}

Result<std::vector<std::string>> without_weights(std::span<const std::string> surveys) {
  std::vector<std::string> inner;
  for (const std::string& text : surveys) {
    TRY(Weighted weighted, parse(text));
    inner.push_back(std::move(weighted.survey));
  }
  return inner;
}

template class WeightedObjective<float>;
template class WeightedObjective<double>;

}  // namespace starling::models
