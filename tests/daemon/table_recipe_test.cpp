#include "daemon/setup/table_recipe.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"

using namespace starling;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// Of a csv, with more settings.
Keys recipe_for(Keys keys) {
  keys.emplace_back("data.source", "csv");
  const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  return daemon::table_recipe(*settings);
}

bool holds(const Keys& recipe, const std::string& key) {
  return std::ranges::count(recipe, key, &Keys::value_type::first) == 1;
}

}  // namespace

TEST_CASE("a table without a goal gets rounds and an optimizer that comes to rest in them") {
  const Keys recipe = recipe_for({});
  for (const char* key : {"stop.rounds", "eval.every", "optim.local-optimizer",
                          "optim.learning-rate", "optim.learning-rate-schedule"})
    CHECK(holds(recipe, key));
}

TEST_CASE("a table with a goal and data that are no table get no recipe") {
  for (const char* goal : {"stop.rounds", "stop.seconds", "stop.loss", "stop.accuracy"})
    CHECK(recipe_for({{goal, "1"}}).empty());
  CHECK(daemon::table_recipe(Settings(daemon::schema())).empty());
}

TEST_CASE("an optimizer that was chosen meets no half of the recipe") {
  for (const auto& [key, value] : Keys{{"optim.algorithm", "ed"},
                                       {"optim.learning-rate", "0.5"},
                                       {"optim.local-optimizer", "momentum"},
                                       {"exchange.schedule", "async"}}) {
    CAPTURE(key);
    const Keys recipe = recipe_for({{key, value}});
    CHECK(holds(recipe, "stop.rounds"));
    CHECK_FALSE(holds(recipe, "optim.learning-rate-schedule"));
    CHECK_FALSE(holds(recipe, "optim.local-optimizer"));
  }
}

TEST_CASE("the recipe is legal however the data are dealt") {
  for (const char* partition : {"iid", "by-label", "contiguous"}) {
    Keys keys{{"data.source", "csv"},
              {"data.path", "x.csv"},
              {"data.target", "y"},
              {"data.partition", partition}};
    const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
    REQUIRE(settings);
    std::ranges::move(daemon::table_recipe(*settings), std::back_inserter(keys));
    CHECK(daemon::read_config(*daemon::load_settings(daemon::schema(), {}, keys), {}));
  }
}
