#include "models/nets/own_fit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "models/data/survey.h"
#include "models/linear/feature_map.h"
#include "models/linear/lbfgs.h"
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

// A linear model on rows that lie in memory as its inputs.
class Fit {
 public:
  Fit(NetworkShape shape, const FeatureMap& map, const Dataset& set, std::span<const Row> rows)
      : network_(std::move(shape)),
        rows_(rows.size()),
        width_(map.width()),
        inputs_(rows_ * width_) {
    map.gather(set, rows, inputs_.data());
    if (set.classes > 0) {
      for (const Row row : rows)
        labels_.push_back(map.classes()[static_cast<std::size_t>(set.labels[row])]);
    } else {
      targets_.resize(rows_);
      map.gather_targets(set, rows, targets_.data());
    }
  }

  std::size_t rows() const { return rows_; }
  std::vector<double> start() const { return std::vector<double>(network_.dimension()); }

  // Moves x to the minimum over all rows but those.
  void minimize(double l2, Range without, std::vector<double>& x) {
    const auto count = static_cast<double>(rows_ - (without.end - without.begin));
    const auto objective = [&](std::span<const double> at, std::span<double> gradient) {
      double loss = 0;
      bool first = true;
      const auto add = [&](const Block<double>& block) {
        loss +=
            network_.add_gradient(at, block, 1 / count, std::exchange(first, false), gradient).loss;
      };
      for_each_block({0, without.begin}, add);
      for_each_block({without.end, rows_}, add);
      return loss / count + network_.add_penalty(at, l2, gradient);
    };
    lbfgs(objective, {}, x);
  }

  double loss(std::span<const double> x, Range range) {
    double sum = 0;
    for_each_block(range,
                   [&](const Block<double>& block) { sum += network_.score(x, block).loss; });
    return sum;
  }

 private:
  void for_each_block(Range range, auto see) {
    for (std::size_t row = range.begin; row < range.end; row += kFitBlockRows)
      see(Block<double>{.rows = std::min(kFitBlockRows, range.end - row),
                        .inputs = inputs_.data() + row * width_,
                        .truth = {.labels = labels_.data() + (labels_.empty() ? 0 : row),
                                  .targets = targets_.data() + (targets_.empty() ? 0 : row)}});
  }

  Network<double> network_;
  std::size_t rows_, width_;
  std::vector<double> inputs_, targets_;
  std::vector<std::int32_t> labels_;
};

// Of the rows, with the features and classes that they have; nothing where they allow none.
std::optional<Fit> make_fit(const ModelOptions& model, const DataOptions& options,
                            const Dataset& set, std::span<const Row> rows) {
  const Survey survey = make_survey(set, rows, options.hash_bits);
  const auto map = FeatureMap::found(set, survey);
  if (!map || (survey.classifies && survey.classes.size() < 2)) return std::nullopt;
  ModelOptions own = model;
  own.kind = straight(model.kind, survey.classifies);
  NetworkShape shape =
      shape_of(own, options.source, SampleShape(map->width()), survey.classes.size());
  const std::size_t numbers = map->width() * shape.outputs();
  const std::vector<Row> some = sample(rows, std::min(kRowsMost, kNumbersMost / numbers));
  if (some.size() < kRowsLeast) return std::nullopt;
  return Fit(std::move(shape), *map, set, some);
}

}  // namespace

std::optional<PenaltyTrial> try_penalties(const ModelOptions& model, const DataOptions& options,
                                          const Dataset& set, std::span<const Row> rows) {
  std::optional<Fit> fit = make_fit(model, options, set, rows);
  if (!fit) return std::nullopt;
  constexpr std::size_t kCount = PenaltyTrial::kStrengths.size();
  PenaltyTrial trial{.rows = static_cast<double>(fit->rows())};
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const Range out{fit->rows() * fold / kFolds, fit->rows() * (fold + 1) / kFolds};
    const auto fitted = static_cast<double>(fit->rows() - (out.end - out.begin));
    std::vector<double> x = fit->start();
    // From the strongest on, whose minimum is near and from which the next is not far.
    for (std::size_t k = kCount; k-- > 0;) {
      fit->minimize(PenaltyTrial::kStrengths[k] / fitted, out, x);
      trial.excess[k] += fit->loss(x, out);
    }
  }
  const double least = std::ranges::min(trial.excess);
  for (double& excess : trial.excess) excess -= least;
  return trial;
}

}  // namespace starling::models
