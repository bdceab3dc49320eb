#include "models/nets/class_weights.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace starling::models {
namespace {

constexpr std::string_view kBalanced = "balanced";
constexpr double kWeightLimit = 1e6;

Result<std::pair<std::string, double>> parse_one(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return fail("\"{}\": expected balanced, or CLASS:WEIGHT separated by commas", word);
  const auto weight = parse_number(std::string_view(word).substr(colon + 1));
  if (!weight || !(*weight > 0 && *weight <= kWeightLimit))
    return fail("\"{}\": expected a weight above 0, at most {:.0f}", word, kWeightLimit);
  return std::pair(word.substr(0, colon), *weight);
}

Result<std::vector<double>> balanced(const Survey& table) {
  const std::vector<double>& rows = table.class_rows;
  if (rows.size() != table.classes.size())
    return fail(
        "model.class-weight = balanced: a founder does not tell how many rows of each class it "
        "has; expected weights by name, such as {}:1",
        table.classes.front());
  const double each =
      std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
  std::vector<double> weights;
  for (const double count : rows) weights.push_back(each / std::max(count, 1.0));
  return weights;
}

}  // namespace

Result<ClassWeights> parse_class_weights(const std::vector<std::string>& words) {
  ClassWeights weights;
  if (words.size() == 1 && words.front() == kBalanced) {
    weights.are_balanced = true;
    return weights;
  }
  for (const std::string& word : words) {
    TRY(auto one, parse_one(word));
    if (std::ranges::count(weights.named, one.first, &std::pair<std::string, double>::first) > 0)
      return fail("\"{}\": the class is named twice", word);
    weights.named.push_back(std::move(one));
  }
  std::ranges::sort(weights.named);
  return weights;
}

std::string to_string(const ClassWeights& weights) {
  if (weights.are_balanced) return std::string(kBalanced);
  std::string text;
  for (const auto& [name, weight] : weights.named)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, weight);
  return text;
}

Result<std::vector<double>> weights_of(const ClassWeights& weights, const Survey& table) {
  if (!weights.is_set()) return std::vector<double>();
  if (!table.classifies)
    return fail("model.class-weight = {}: target {} holds amounts, which have no classes",
                to_string(weights), table.target);
  if (weights.are_balanced) return balanced(table);
  std::vector<double> result(table.classes.size(), 1);
  for (const auto& [name, weight] : weights.named) {
    const auto found = std::ranges::find(table.classes, name);
    if (found == table.classes.end())
      return fail("model.class-weight = {}: target {} has no class {}; expected {}",
                  to_string(weights), table.target, name, fmt::join(table.classes, ", "));
    result[static_cast<std::size_t>(found - table.classes.begin())] = weight;
  }
  return result;
}

}  // namespace starling::models
