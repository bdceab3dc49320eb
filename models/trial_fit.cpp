#include "models/trial_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "models/data/moments.h"
#include "models/data/table_notes.h"
#include "models/factory.h"
#include "optim/trainer.h"

namespace starling::models {
namespace {

constexpr std::uint64_t kSteps = 1000;
constexpr std::size_t kParametersMost = 50'000;

// Nothing where the model does not fit the data, or diverges. The options get the l2 that auto
// stood for: to choose it takes longer than a fit.
std::optional<optim::Evaluation> fit(LearnerOptions& options, std::shared_ptr<const Data> data) {
  auto trainer = make_trainer(options, std::move(data), "trial", [] { return Time{}; });
  if (!trainer) return std::nullopt;
  optim::Job assign;
  assign.shard = std::make_shared<optim::Shard>(std::vector<NodeId>{NodeId{1}}, 0);
  const std::string survey = (*trainer)->run(assign).workload->survey;
  optim::Job found;
  found.foundation = std::make_shared<std::vector<std::string>>(1, survey);
  if ((*trainer)->run(found).problem ||
      (*trainer)->workload().f32_bytes > kParametersMost * sizeof(float))
    return std::nullopt;
  options.model.l2 = (*trainer)->workload().preparation.l2;
  optim::Job step;
  for (step.local = true; step.round < kSteps; ++step.round) (*trainer)->run(step);
  optim::Job evaluate;
  evaluate.evaluate = evaluate.whole = true;
  return (*trainer)->run(evaluate).evaluation;
}

// The error on the held-out rows without a model: of the class that most rows for training have, or
// of their mean.
std::string error_without_model(const Data& data) {
  const Dataset &train = data.train, &test = data.test;
  if (train.classes == 0) {
    Moments known;
    double squares = 0;
    for (const double target : train.targets) known.add(target);
    for (const double target : test.targets)
      squares += (target - known.mean) * (target - known.mean);
    return fmt::format("the mean {:.4g}", std::sqrt(squares / static_cast<double>(test.rows)));
  }
  const std::string answer = most_frequent_class(train).name;
  const auto wrong = std::ranges::count_if(test.labels, [&](std::int32_t label) {
    return test.class_names[static_cast<std::size_t>(label)] != answer;
  });
  return fmt::format("always \"{}\" {:.1f} %", answer,
                     100 * static_cast<double>(wrong) / static_cast<double>(test.rows));
}

}  // namespace

std::string trial_fits(LearnerOptions options, std::shared_ptr<const Data> data) {
  if (!data->train.is_table() || data->test.rows == 0) return {};
  options.optim.local_optimizer = optim::LocalOptimizerKind::adam;
  options.optim.learning_rate = 0.03;
  options.optim.schedule = {.shape = optim::Schedule::Shape::cosine, .rounds = kSteps};
  const auto linear = resolve_kind(options.model, options.data, data->train);
  if (!linear) return {};
  options.model.kind = *linear;
  const auto straight = fit(options, data);
  options.model.kind = ModelKind::mlp;
  const auto bent = fit(options, data);
  if (!straight || !bent) return {};
  const bool classifies = straight->accuracy.has_value();
  const auto error = [&](const optim::Evaluation& of) {
    return classifies ? fmt::format("{:.1f} %", 100 * (1 - *of.accuracy))
                      : fmt::format("{:.4g}", of.rmse.value_or(0));
  };
  return fmt::format("in {} steps in one place: {} {}, mlp {}, {} ({} of {} held-out rows)",
                     with_commas(kSteps), to_string(*linear), error(*straight), error(*bent),
                     error_without_model(*data), classifies ? "errors" : "root mean square error",
                     with_commas(data->test.rows));
}

}  // namespace starling::models
