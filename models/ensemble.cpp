#include "models/ensemble.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/text.h"

namespace starling::models {
namespace {

Result<void> check_opinions(std::span<const Opinion> opinions, Poll poll) {
  const Opinion& first = opinions.front();
  for (const Opinion& one : opinions) {
    if (one.classes.empty() != first.classes.empty())
      return fail("{} predicts {}, and {} {}; expected models of one target", first.model,
                  first.classes.empty() ? "amounts" : "classes", one.model,
                  one.classes.empty() ? "amounts" : "classes");
    if (one.predictions.rows != first.predictions.rows)
      return fail("{} has {} rows, and {} {}; expected the same rows", first.model,
                  with_commas(first.predictions.rows), one.model,
                  with_commas(one.predictions.rows));
  }
  if (poll == Poll::vote && first.classes.empty())
    return fail("amounts have no votes; expected the mean");
  return {};
}

double deviation(std::span<const double> numbers, double mean) {
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

void join_amounts(std::span<const Opinion> opinions, JointOpinion& joint) {
  for (std::size_t row = 0; row < joint.predictions.rows; ++row) {
    std::vector<double> amounts;
    double mean = 0;
    for (const Opinion& one : opinions) {
      amounts.push_back(one.predictions.amounts[row]);
      mean += amounts.back() / static_cast<double>(opinions.size());
    }
    joint.predictions.amounts.push_back(mean);
    joint.predictions.spread.push_back(deviation(amounts, mean));
  }
}

// The place of each class of a model among those of all.
std::vector<std::size_t> places_among(const std::vector<std::string>& classes,
                                      const std::vector<std::string>& all) {
  std::vector<std::size_t> places;
  for (const std::string& name : classes)
    places.push_back(static_cast<std::size_t>(std::ranges::lower_bound(all, name) - all.begin()));
  return places;
}

void join_classes(std::span<const Opinion> opinions, Poll poll, JointOpinion& joint) {
  std::set<std::string> known;
  for (const Opinion& one : opinions) known.insert(one.classes.begin(), one.classes.end());
  joint.classes.assign(known.begin(), known.end());
  std::vector<std::vector<std::size_t>> places;
  for (const Opinion& one : opinions) places.push_back(places_among(one.classes, joint.classes));
  const std::size_t count = joint.classes.size(), models = opinions.size();
  const double share = 1 / static_cast<double>(models);
  std::vector<double> of_models(models * count), mean(count), votes(count);
  for (std::size_t row = 0; row < joint.predictions.rows; ++row) {
    std::ranges::fill(of_models, 0.0);
    std::ranges::fill(mean, 0.0);
    std::ranges::fill(votes, 0.0);
    for (std::size_t m = 0; m < models; ++m) {
      const Predictions& own = opinions[m].predictions;
      for (std::size_t c = 0; c < places[m].size(); ++c) {
        const double probability = own.probabilities[row * places[m].size() + c];
        of_models[places[m][c] * models + m] = probability;
        mean[places[m][c]] += share * probability;
      }
      votes[places[m][own.likeliest[row]]] += share;
    }
    std::size_t best = 0;
    for (std::size_t c = 1; c < count; ++c) {
      const bool has_more =
          votes[c] > votes[best] || (votes[c] == votes[best] && mean[c] > mean[best]);
      if (poll == Poll::vote ? has_more : mean[c] > mean[best]) best = c;
    }
    joint.predictions.likeliest.push_back(static_cast<std::uint32_t>(best));
    std::ranges::copy(poll == Poll::vote ? votes : mean,
                      std::back_inserter(joint.predictions.probabilities));
    joint.predictions.spread.push_back(
        deviation(std::span(of_models).subspan(best * models, models), mean[best]));
  }
}

}  // namespace

Result<JointOpinion> join_opinions(std::span<const Opinion> opinions, Poll poll) {
  TRY_DO(check_opinions(opinions, poll));
  JointOpinion joint;
  joint.predictions.rows = opinions.front().predictions.rows;
  for (const Opinion& one : opinions)
    for (const std::string& note : one.predictions.notes)
      joint.predictions.notes.push_back(fmt::format("{}: {}", one.model, note));
  if (opinions.front().classes.empty())
    join_amounts(opinions, joint);
  else
    join_classes(opinions, poll, joint);
  return joint;
}

}  // namespace starling::models
