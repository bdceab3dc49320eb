#include "models/data/table_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "models/data/moments.h"

namespace starling::models {
namespace {

// The least share of repeated rows that is told of. Smaller: rows that are equal by chance are told
// of too.
constexpr double kTold = 0.01;

// Skewness of amounts that are told of: that of an exponential distribution. Larger: only of longer
// tails.
constexpr double kSkewed = 2;
constexpr std::size_t kTailRowsLeast = 50;

// The third moment over the third power of the deviation; 0 for a constant.
double skewness(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.add(value);
  double cubes = 0;
  for (const double value : values) cubes += std::pow(value - moments.mean, 3);
  const double deviation = moments.deviation();
  return deviation > 0 ? cubes / static_cast<double>(values.size()) / std::pow(deviation, 3) : 0;
}

double share_of(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// By class name, over both sets: their labels are of one numbering.
std::vector<std::size_t> count_labels(const Dataset& set) {
  std::vector<std::size_t> counts(set.class_names.size());
  for (const std::int32_t label : set.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

std::size_t count_repeated(std::vector<std::uint64_t> rows) {
  std::ranges::sort(rows);
  return std::ranges::unique(rows).size();
}

}  // namespace

std::optional<std::string> repeated_rows_note(std::vector<std::uint64_t> trained,
                                              const std::vector<std::uint64_t>& held_out) {
  std::vector<std::uint64_t> all = trained;
  all.insert(all.end(), held_out.begin(), held_out.end());
  const std::size_t repeated = count_repeated(all);
  std::ranges::sort(trained);
  const auto is_trained = [&](std::uint64_t row) {
    return std::ranges::binary_search(trained, row);
  };
  const auto leaked = static_cast<std::size_t>(std::ranges::count_if(held_out, is_trained));
  if (repeated == 0 || share_of(repeated, all.size()) < kTold) return std::nullopt;
  std::string text = fmt::format("{} of {} rows repeat an earlier row", with_commas(repeated),
                                 with_commas(all.size()));
  if (leaked > 0)
    text += fmt::format(
        "; {} of {} held-out rows are trained on too, and their errors look smaller than those of "
        "new rows",
        with_commas(leaked), with_commas(held_out.size()));
  return text + "; leave them out of the file, unless they are samples of their own";
}

std::optional<std::size_t> rare_class(const std::vector<double>& rows_of_classes) {
  if (rows_of_classes.size() < 2) return std::nullopt;
  const auto least = std::ranges::min_element(rows_of_classes);
  const double each = std::accumulate(rows_of_classes.begin(), rows_of_classes.end(), 0.0) /
                      static_cast<double>(rows_of_classes.size());
  if (*least >= kRare * each) return std::nullopt;
  return static_cast<std::size_t>(least - rows_of_classes.begin());
}

FrequentClass most_frequent_class(const Dataset& set) {
  const std::vector<std::size_t> counts = count_labels(set);
  const auto most = std::ranges::max_element(counts);
  return {set.class_names[static_cast<std::size_t>(most - counts.begin())],
          share_of(*most, set.labels.size())};
}

std::optional<std::string> heavy_tail_note(const Data& data, const std::string& target,
                                           TargetScale scale) {
  std::vector<double> amounts = data.train.targets;
  if (scale == TargetScale::log || amounts.size() < kTailRowsLeast ||
      std::ranges::min(amounts) <= 0)
    return std::nullopt;
  const double skew = skewness(amounts);
  for (double& amount : amounts) amount = std::log(amount);
  const double skew_of_logs = skewness(amounts);
  if (skew < kSkewed || std::abs(skew_of_logs) > skew / 4) return std::nullopt;
  return fmt::format(
      "target {} has a long tail: its amounts have skewness {:.2g}, their logarithms {:.2g}; "
      "data.target-scale = log learns these, and predicts in units of {}",
      target, skew, skew_of_logs, target);
}

std::optional<std::string> rare_class_note(const Data& data) {
  const Dataset& train = data.train;
  if (train.class_names.size() < 2) return std::nullopt;
  std::vector<std::size_t> counts = count_labels(train);
  const std::vector<std::size_t> held_out = count_labels(data.test);
  for (std::size_t c = 0; c < std::min(counts.size(), held_out.size()); ++c)
    counts[c] += held_out[c];
  const std::size_t rows = train.rows + data.test.rows;
  if (!rare_class({counts.begin(), counts.end()})) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(counts);
  const auto name = [&](auto place) -> const std::string& {
    return train.class_names[static_cast<std::size_t>(place - counts.begin())];
  };
  return fmt::format(
      "class {} is rare: {} of {} rows ({:.2g} %); to answer {} always is right in {:.1f} % of "
      "them, "
      "so compare with that accuracy, and look at the recall of each class (starling evaluate)",
      name(least), with_commas(*least), with_commas(rows), 100 * share_of(*least, rows), name(most),
      100 * share_of(*most, rows));
}

}  // namespace starling::models
