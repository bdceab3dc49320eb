#include "models/nets/own_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "models/data/survey.h"
#include "models/linear/feature_map.h"
#include "models/linear/lbfgs.h"
#include "models/nets/class_tally.h"
#include "models/nets/model_card.h"
#include "models/nets/network.h"

namespace starling::models {
namespace {

// More rows and numbers: slower, and hardly another strength.
constexpr std::size_t kRowsMost = 20'000, kNumbersMost = 2'000'000;
constexpr std::size_t kRowsLeast = 40;  // fewer say nothing
constexpr std::size_t kFolds = 4;       // more: slower; fewer: fits of fewer rows
constexpr std::size_t kFitBlockRows = 256;

using Row = std::uint32_t;

std::size_t rows_most(std::size_t numbers_of_row) {
  return std::min(kRowsMost, kNumbersMost / numbers_of_row);
}

// In an order that does not depend on what they hold, at most `most` of them.
std::vector<Row> sample(std::span<const Row> rows, std::size_t most) {
  std::vector<Row> result(rows.begin(), rows.end());
  std::ranges::sort(result, {}, [](Row row) { return mix64(row); });
  result.resize(std::min(result.size(), most));
  return result;
}

ModelKind straight(ModelKind kind, bool classifies) {
  if (kind == ModelKind::mlp) return classifies ? ModelKind::softmax : ModelKind::linear;
  return kind;
}

// Rows from `begin` on, below `end`.
struct Range {
  std::size_t begin = 0, end = 0;
};

// Rows of a table as the inputs of a model. Those of a class that the map does not know are left
// out.
struct Samples {
  std::size_t rows = 0, width = 0;
  std::vector<double> inputs = {}, targets = {};
  std::vector<std::int32_t> labels = {};
  std::vector<double> weights = {};  // of the classes; empty: all count 1

  Block<double> block(std::size_t begin, std::size_t end) const {
    Block<double> block{.rows = end - begin, .inputs = inputs.data() + begin * width, .truth = {}};
    if (!labels.empty()) block.truth.labels = labels.data() + begin;
    if (!targets.empty()) block.truth.targets = targets.data() + begin;
    if (!weights.empty()) block.truth.weights = weights.data();
    return block;
  }
};

Samples gather(const FeatureMap& map, const Dataset& set, std::vector<Row> rows) {
  Samples samples{.width = map.width()};
  if (set.classes > 0) {
    const auto label = [&](Row row) {
      return map.classes()[static_cast<std::size_t>(set.labels[row])];
    };
    std::erase_if(rows, [&](Row row) { return label(row) < 0; });
    for (const Row row : rows) samples.labels.push_back(label(row));
  } else {
    samples.targets.resize(rows.size());
    map.gather_targets(set, rows, samples.targets.data());
  }
  samples.rows = rows.size();
  samples.inputs.resize(rows.size() * map.width());
  map.gather(set, rows, samples.inputs.data());
  return samples;
}

void for_each_block(const Samples& samples, Range range, auto see) {
  for (std::size_t row = range.begin; row < range.end; row += kFitBlockRows)
    see(samples.block(row, std::min(row + kFitBlockRows, range.end)));
}

// A linear model of some rows.
class Fit {
 public:
  Fit(FeatureMap map, NetworkShape shape, Samples samples)
      : map_(std::move(map)), network_(std::move(shape)), samples_(std::move(samples)) {}

  std::size_t rows() const { return samples_.rows; }
  std::size_t width() const { return samples_.width; }
  std::vector<double> start() const { return std::vector<double>(network_.dimension()); }

  // Moves x to the minimum over all rows but those.
  void minimize(double l2, Range without, std::vector<double>& x) {
    const auto count = static_cast<double>(rows() - (without.end - without.begin));
    const auto objective = [&](std::span<const double> at, std::span<double> gradient) {
      double loss = 0;
      bool first = true;
      const auto add = [&](const Block<double>& block) {
        loss +=
            network_.add_gradient(at, block, 1 / count, std::exchange(first, false), gradient).loss;
      };
      for_each_block(samples_, {0, without.begin}, add);
      for_each_block(samples_, {without.end, rows()}, add);
      return loss / count + network_.add_penalty(at, l2, gradient);
    };
    lbfgs(objective, {}, x);
  }

  double loss(std::span<const double> x, Range range) {
    double sum = 0;
    for_each_block(samples_, range,
                   [&](const Block<double>& block) { sum += network_.score(x, block).loss; });
    return sum;
  }

  // Of other rows; one of a class that these do not have counts as wrong.
  optim::Evaluation evaluate(std::span<const double> x, const Dataset& set,
                             const std::vector<Row>& rows) {
    const Samples samples = gather(map_, set, rows);
    const auto count = static_cast<double>(rows.size());
    Score score;
    double squares = 0;
    ClassTally tally(network_.shape().classes(), {});
    for_each_block(samples, {0, samples.rows}, [&](const Block<double>& block) {
      const auto outputs = network_.outputs(x, block);
      if (set.classes > 0)
        tally.add(outputs, std::span(block.truth.labels, block.rows));
      else
        squares += map_.squared_error(outputs, block.truth.targets);
      score += network_.score_outputs(block);
    });
    optim::Evaluation evaluation{.samples = rows.size(), .available = set.rows};
    evaluation.loss = score.loss / static_cast<double>(samples.rows);
    if (set.classes > 0)
      evaluation.accuracy = static_cast<double>(score.correct) / count;
    else
      evaluation.rmse = std::sqrt(squares / count);
    tally.write(evaluation);
    return evaluation;
  }

 private:
  FeatureMap map_;
  Network<double> network_;
  Samples samples_;
};

// As in training, but balanced by these rows, and of the named classes those that these rows have.
std::vector<double> own_weights(ClassWeights weights, const Survey& survey) {
  std::erase_if(weights.named, [&](const auto& one) {
    return std::ranges::count(survey.classes, one.first) == 0;
  });
  return weights_of(weights, survey).value_or(std::vector<double>());
}

// Of the rows, with the features and classes that they have; nothing where they allow none.
std::optional<Fit> make_fit(const ModelOptions& model, const DataOptions& options,
                            const Dataset& set, std::span<const Row> rows) {
  const Survey survey =
      make_survey(set, rows, options.hash_bits, 0, options.target_scale == TargetScale::log);
  auto map = FeatureMap::found(set, survey);
  if (!map || (survey.classifies && survey.classes.size() < 2)) return std::nullopt;
  ModelOptions own = model;
  own.kind = straight(model.kind, survey.classifies);
  if (own.kind == ModelKind::logistic && survey.classes.size() != 2) return std::nullopt;
  NetworkShape shape =
      shape_of(own, options.source, SampleShape(map->width()), survey.classes.size());
  std::vector<Row> some = sample(rows, rows_most(map->width() * shape.outputs()));
  if (some.size() < kRowsLeast) return std::nullopt;
  Samples samples = gather(*map, set, std::move(some));
  samples.weights = own_weights(model.class_weights, survey);
  return std::optional<Fit>(std::in_place, *std::move(map), std::move(shape), std::move(samples));
}

PenaltyTrial try_strengths(Fit& fit, const PenaltyTrial::Strengths& strengths) {
  PenaltyTrial trial{.rows = static_cast<double>(fit.rows())};
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const Range out{fit.rows() * fold / kFolds, fit.rows() * (fold + 1) / kFolds};
    const auto fitted = static_cast<double>(fit.rows() - (out.end - out.begin));
    std::vector<double> x = fit.start();
    // From the strongest on, whose minimum is near and from which the next is not far.
    for (std::size_t k = strengths.size(); k-- > 0;) {
      fit.minimize(strengths[k] / fitted, out, x);
      trial.excess[k] += fit.loss(x, out);
    }
  }
  const double least = std::ranges::min(trial.excess);
  for (double& excess : trial.excess) excess -= least;
  return trial;
}

}  // namespace

OwnFit fit_own_rows(const ModelOptions& model, const DataOptions& options, const Dataset& set,
                    std::span<const Row> rows, const Dataset& held_out) {
  OwnFit own;
  std::optional<Fit> fit = make_fit(model, options, set, rows);
  if (!fit) return own;
  const PenaltyTrial::Strengths& strengths = PenaltyTrial::strengths(set.classes > 0);
  if (!model.l2) own.trial = try_strengths(*fit, strengths);
  if (held_out.rows == 0) return own;
  std::vector<double> x = fit->start();
  const auto count = static_cast<double>(fit->rows());
  fit->minimize(own.trial ? own.trial->best(strengths) / count : *model.l2, {}, x);
  std::vector<Row> others(held_out.rows);
  std::iota(others.begin(), others.end(), Row{0});
  own.alone = fit->evaluate(x, held_out, sample(others, rows_most(fit->width())));
  return own;
}

}  // namespace starling::models
