// Grid: the keys that a sweep varies, with their values, and all combinations of these.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace starling::daemon {

struct GridKey {
  std::string name;
  std::vector<std::string> values;
};

// Of the words "KEY=VALUE,VALUE,…". A key that is named twice, or a value that is, is an error.
Result<std::vector<GridKey>> parse_grid(std::span<const std::string> words);

// One value of each key, in the order of the keys.
using GridPoint = std::vector<SettingSources::Pair>;

// The last key varies fastest.
std::vector<GridPoint> points_of(std::span<const GridKey> keys);

// "optim.learning-rate=.01 exchange.codec=i4"
std::string point_name(const GridPoint& point);

}  // namespace starling::daemon
