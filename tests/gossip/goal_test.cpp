#include "gossip/goal.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/settings.h"
#include "gossip/edges/exchange.h"
#include "gossip/node/run_end.h"
#include "gossip/options.h"
#include "tests/gossip/party.h"

using namespace starling;
using namespace starling::gossip;

TEST_CASE("Every goal is a setting on which nodes agree and no limit by default") {
  Schema schema;
  describe(schema);
  std::set<std::string_view> keys;
  for (const GoalRow& row : goal_rows()) {
    CAPTURE(row.key);
    CHECK(keys.insert(row.key).second);
    const Key* key = schema.find(std::string(row.key));
    REQUIRE(key);
    CHECK(key->scope == Scope::agreed);
    CHECK_FALSE(row.wanted(Goal{}));
  }
  CHECK_FALSE(Goal{}.is_set());
}

TEST_CASE("A goal is reached from one side and names itself") {
  const Goal goal{.rounds = 100, .loss = 0.5};
  CHECK(reached_goal(goal, {.rounds = 99, .loss = 0.6}) == nullptr);
  CHECK(reached_goal(goal, {.rounds = 100, .loss = 0.6})->key == "stop.rounds");
  CHECK(reached_goal(goal, {.rounds = 1, .loss = 0.5})->key == "stop.loss");
  CHECK(reached_goal(goal, {.rounds = 1}) == nullptr);
}

TEST_CASE("The first limit says how far a run is") {
  const Goal goal{.rounds = 200, .seconds = 10, .accuracy = 0.9};
  CHECK(*share_done(goal, {.rounds = 100, .seconds = 8}) == doctest::Approx(0.8));
  CHECK(progress_text(goal, {.rounds = 100, .seconds = 8, .accuracy = 0.5}) ==
        "100 of 200 rounds, 8 of 10 s, accuracy 50 % of 90 %");
  CHECK_FALSE(share_done({.loss = 0.1}, {.loss = 0.2}));
  CHECK(progress_text({}, {.rounds = 3}).empty());
}

TEST_CASE("What the model lacks of its goals is a shortfall and no limit is one") {
  CHECK(shortfall({.rounds = 5}, {.rounds = 1}).empty());
  CHECK(shortfall({.accuracy = 0.9}, {.accuracy = 0.95}).empty());
  CHECK(shortfall({.accuracy = 0.9}, {.accuracy = 0.5}) ==
        "stop.accuracy = 0.9 is not reached: accuracy 50 %");
  CHECK(shortfall({.loss = 0.1}, {}) == "stop.loss = 0.1 is not reached: no evaluation");
}

TEST_CASE("A node votes for the end when its numbers come to any goal") {
  Schema schema;
  describe(schema);
  topology::describe(schema);
  for (const GoalRow& row : goal_rows()) {
    CAPTURE(row.key);
    const auto settings = load_settings(schema, {.keys = {{std::string(row.key), "1"}}});
    REQUIRE(settings.has_value());
    Reader reader(*settings);
    Options options = test::party_options(1);
    options.goal = read_options(reader).goal;
    const test::Party node(options);
    Exchange exchange(options);
    RunEnd end(options, exchange.rounds());
    std::optional<optim::Evaluation> evaluation = optim::Evaluation{.loss = 0.5, .accuracy = 1};
    for (std::uint64_t k = 1; k < 6; ++k) {
      evaluation->round = k;
      end.judge({.round = k,
                 .samples = k,
                 .seconds = 1000.0 * static_cast<double>(k),
                 .evaluation = evaluation,
                 .is_budget_spent = true},
                node.membership.roster(), exchange.neighbors());
    }
    CHECK(end.vote(0) > 0);
    CHECK(end.reason().ends_with(fmt::format("({})", row.key)));
  }
}
