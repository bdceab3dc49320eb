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

TEST_CASE("a table gets an optimizer that comes to rest in the rounds of its goal") {
  const Keys recipe = recipe_for({{"stop.rounds", "300"}});
  CHECK(recipe == Keys{{"optim.local-optimizer", "adam"},
                       {"optim.learning-rate", "0.03"},
                       {"optim.learning-rate-schedule", "cosine:300"}});
  CHECK(recipe_for({{"stop.rounds", "300"}, {"stop.loss", "0.1"}}) == recipe);
}

TEST_CASE("without a number of rounds the rate falls for ever") {
  for (const char* goal : {"stop.seconds", "stop.loss", "stop.accuracy", "stop.patience"}) {
    const Keys recipe = recipe_for({{goal, "1"}});
    CHECK(holds(recipe, "optim.local-optimizer"));
    CHECK(recipe.back().second.starts_with("inverse:"));
  }
  CHECK(recipe_for({{"stop.rounds", "0"}}) == recipe_for({}));
  CHECK(recipe_for({{"stop.rounds", "many"}}) == recipe_for({}));
}

TEST_CASE("an mlp of a table ends with its best models") {
  CHECK(recipe_for({{"model.kind", "mlp"}}).back() ==
        std::pair<std::string, std::string>("stop.keep", "best"));
  CHECK(recipe_for({{"model.kind", "mlp"}, {"optim.momentum", "0.5"}}) ==
        Keys{{"stop.keep", "best"}});
  CHECK_FALSE(holds(recipe_for({{"model.kind", "mlp"}, {"stop.keep", "last"}}), "stop.keep"));
}

TEST_CASE("up gives a table without a goal a number of rounds") {
  const auto goal_for = [](Keys keys) {
    keys.emplace_back("data.source", "csv");
    return daemon::table_goal(*daemon::load_settings(daemon::schema(), {}, keys));
  };
  CHECK(goal_for({}) == Keys{{"stop.rounds", "2000"}, {"eval.every", "50"}});
  CHECK(goal_for({{"eval.every", "9"}}) == Keys{{"stop.rounds", "2000"}});
  CHECK(goal_for({{"optim.algorithm", "ed"}}) == goal_for({}));
  for (const char* goal : {"stop.rounds", "stop.seconds", "stop.loss", "stop.accuracy"})
    CHECK(goal_for({{goal, "1"}}).empty());
  CHECK(daemon::table_goal(Settings(daemon::schema())).empty());
}

TEST_CASE("data that are no table and trainers of the user's own get no recipe") {
  CHECK(daemon::table_recipe(Settings(daemon::schema())).empty());
  CHECK(recipe_for({{"model.kind", "external"}}).empty());
}

TEST_CASE("an optimizer that was chosen meets no half of the recipe") {
  for (const auto& [key, value] : Keys{{"optim.algorithm", "ed"},
                                       {"optim.learning-rate", "0.5"},
                                       {"optim.local-optimizer", "momentum"},
                                       {"exchange.schedule", "async"}}) {
    CAPTURE(key);
    CHECK(recipe_for({{key, value}}).empty());
  }
}

TEST_CASE("a recipe that is set is shown as such and asks for nothing more") {
  auto settings = *daemon::load_settings(daemon::schema(), {}, Keys{{"data.source", "csv"}});
  daemon::apply_recipe(daemon::table_goal(settings), settings);
  const Keys recipe = daemon::table_recipe(settings);
  daemon::apply_recipe(recipe, settings);
  CHECK(settings.at("stop.rounds").origin == "recipe for tables");
  CHECK(settings.text("optim.learning-rate-schedule") == "cosine:2000");
  CHECK(daemon::table_recipe(settings).empty());
  CHECK(daemon::recipe_text(Keys{{"a", "1"}, {"b", "2"}}) == "a = 1, b = 2");
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
