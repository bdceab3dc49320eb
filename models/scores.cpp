#include "models/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/data/moments.h"
#include "models/data/survey.h"
#include "models/linear/area_under_curve.h"

namespace starling::models {
namespace {

void fill_classes(Scores& scores, std::span<const std::string> names) {
  for (std::size_t c = 0; c < names.size(); ++c) {
    ClassScore score{.name = names[c]};
    std::size_t predicted = 0;
    for (std::size_t k = 0; k < names.size(); ++k) {
      score.rows += scores.confusion[c][k];
      predicted += scores.confusion[k][c];
    }
    const auto right = static_cast<double>(scores.confusion[c][c]);
    if (predicted > 0) score.precision = right / static_cast<double>(predicted);
    if (score.rows > 0) score.recall = right / static_cast<double>(score.rows);
    scores.classes.push_back(std::move(score));
  }
}

void fill_baselines(Scores& scores) {
  double recalls = 0, present = 0;
  std::size_t most = 0;
  for (const ClassScore& score : scores.classes) {
    recalls += score.recall.value_or(0);
    present += score.recall ? 1 : 0;
    if (score.rows > most) scores.baseline_class = score.name;
    most = std::max(most, score.rows);
  }
  if (present > 0) scores.balanced_accuracy = recalls / present;
  scores.baseline_accuracy = static_cast<double>(most) / static_cast<double>(scores.rows);
}

// The name of a label: data that are no table have numbers.
std::string name_of(const Dataset& set, std::size_t label) {
  return set.class_names.empty() ? std::to_string(label) : set.class_names[label];
}

// The model's class by the label of the set; as many as there are: none.
std::vector<std::size_t> known_classes(const Dataset& set, std::span<const std::string> classes) {
  const std::vector<std::string> names(classes.begin(), classes.end());
  std::vector<std::size_t> known(std::max(set.classes, set.class_names.size()));
  for (std::size_t label = 0; label < known.size(); ++label) {
    const std::string name = name_of(set, label);
    known[label] = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    // Those of a table are ascending.
    if (known[label] == names.size() && !set.class_names.empty())
      known[label] = find_word(names, name).value_or(names.size());
  }
  return known;
}

// Keeps the surest.
void add_mistake(std::vector<Mistake>& mistakes, Mistake mistake) {
  const auto place = std::ranges::upper_bound(mistakes, mistake.probability, std::greater(),
                                              &Mistake::probability);
  mistakes.insert(place, std::move(mistake));
  if (mistakes.size() > kMistakesTold) mistakes.pop_back();
}

}  // namespace

Scores score_classes(const Dataset& set, const Predictions& predictions,
                     std::span<const std::string> classes) {
  Scores scores;
  scores.rows = set.rows;
  scores.confusion.assign(classes.size(), std::vector<std::size_t>(classes.size()));
  std::vector<double> second;
  std::vector<bool> is_second;
  const std::vector<std::size_t> known = known_classes(set, classes);
  std::size_t right = 0;
  for (std::size_t row = 0; row < set.rows; ++row) {
    const std::size_t truth = known[static_cast<std::size_t>(set.labels[row])];
    if (truth == classes.size()) {
      if (scores.unknown++ == 0)
        scores.first_unknown = name_of(set, static_cast<std::size_t>(set.labels[row]));
      continue;
    }
    const std::size_t likeliest = predictions.likeliest[row];
    if (truth != likeliest)
      add_mistake(scores.surest_mistakes,
                  {row, classes[truth], classes[likeliest],
                   predictions.probabilities[row * classes.size() + likeliest]});
    ++scores.confusion[truth][likeliest];
    right += truth == likeliest ? 1 : 0;
    if (classes.size() != 2) continue;
    second.push_back(predictions.probabilities[2 * row + 1]);
    is_second.push_back(truth == 1);
  }
  scores.accuracy = static_cast<double>(right) / static_cast<double>(set.rows);
  fill_classes(scores, classes);
  fill_baselines(scores);
  if (const auto ranked = area_under_curve(second, is_second))
    scores.area_under_curve = ranked->area;
  scores.average_precision = average_precision(second, is_second);
  return scores;
}

Scores score_amounts(const Dataset& set, const Predictions& predictions) {
  Scores scores;
  scores.rows = set.rows;
  Moments targets;
  double squares = 0, absolutes = 0;
  for (std::size_t row = 0; row < set.rows; ++row) {
    const double error = predictions.amounts[row] - set.targets[row];
    squares += error * error;
    absolutes += std::abs(error);
    targets.add(set.targets[row]);
  }
  const auto count = static_cast<double>(set.rows);
  scores.rmse = std::sqrt(squares / count);
  scores.baseline_rmse = std::sqrt(targets.squares / count);
  scores.mean_absolute_error = absolutes / count;
  if (targets.squares > 0) scores.r_squared = 1 - squares / targets.squares;
  return scores;
}

}  // namespace starling::models
