#include "models/data/table_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace starling::models {
namespace {

// The least share of repeated rows that is told of. Smaller: rows that are equal by chance are told
// of too.
constexpr double kTold = 0.01;

// A class with fewer rows than this share of what each would have is rare.
constexpr double kRare = 0.2;

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

FrequentClass most_frequent_class(const Dataset& set) {
  const std::vector<std::size_t> counts = count_labels(set);
  const auto most = std::ranges::max_element(counts);
  return {set.class_names[static_cast<std::size_t>(most - counts.begin())],
          share_of(*most, set.labels.size())};
}

std::optional<std::string> rare_class_note(const Data& data) {
  const Dataset& train = data.train;
  if (train.class_names.size() < 2) return std::nullopt;
  std::vector<std::size_t> counts = count_labels(train);
  const std::vector<std::size_t> held_out = count_labels(data.test);
  for (std::size_t c = 0; c < std::min(counts.size(), held_out.size()); ++c)
    counts[c] += held_out[c];
  const std::size_t rows = train.rows + data.test.rows;
  const auto [least, most] = std::ranges::minmax_element(counts);
  if (share_of(*least, rows) >= kRare / static_cast<double>(counts.size())) return std::nullopt;
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
