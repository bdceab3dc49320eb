#include "daemon/cli/sweep/grid.h"

#include <algorithm>

#include "base/text.h"

namespace starling::daemon {

Result<std::vector<GridKey>> parse_grid(std::span<const std::string> words) {
  std::vector<GridKey> keys;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    GridKey key{word.substr(0, equals), {}};
    if (equals != std::string::npos) key.values = split(word.substr(equals + 1), ',');
    if (key.name.find('.') == std::string::npos || key.values.empty())
      return fail(
          "\"{}\": expected a key and its values, as optim.learning-rate=.01,.03; a key with one "
          "value for all runs begins with --",
          word);
    if (std::ranges::find(keys, key.name, &GridKey::name) != keys.end())
      return fail("{} is named twice; expected all its values together, with commas", key.name);
    for (const std::string& value : key.values)
      if (std::ranges::count(key.values, value) > 1)
        return fail("{}: the value {} is named twice", word, value);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<GridPoint> points_of(std::span<const GridKey> keys) {
  std::vector<GridPoint> points(1);
  for (const GridKey& key : keys) {
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points)
      for (const std::string& value : key.values) {
        longer.push_back(point);
        longer.back().emplace_back(key.name, value);
      }
    points = std::move(longer);
  }
  return points;
}

std::string point_name(const GridPoint& point) {
  std::string text;
  for (const auto& [key, value] : point)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

}  // namespace starling::daemon
