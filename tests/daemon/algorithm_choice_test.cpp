#include "daemon/setup/algorithm_choice.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "optim/aggregation.h"

using namespace starling;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// What is chosen is legal.
daemon::Config config_of(const Keys& keys) {
  const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  auto config = daemon::read_config(*settings, {});
  REQUIRE(config);
  return *std::move(config);
}

// "ed", and why.
std::pair<std::string, std::string> choice(const Keys& keys) {
  const daemon::Config config = config_of(keys);
  return {config.node.algorithm, config.algorithm_reason};
}

void expect(Keys keys, const std::string& algorithm, const std::string& reason) {
  const auto [chosen, why] = choice(keys);
  CAPTURE(why);
  CHECK(chosen == algorithm);
  CHECK(why.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("Where all draw from the same data the simplest algorithm is chosen") {
  expect({}, "dpsgd", "same data");
  expect({{"exchange.schedule", "async"}}, "dpsgd", "same data");
  expect({{"exchange.schedule", "pairwise"}}, "adpsgd", "same data");
  expect({{"optim.local-optimizer", "adam"}}, "dpsgd", "same data");
}

TEST_CASE("Where data differ by node an exact algorithm is chosen that allows the other settings") {
  const auto with = [](Keys keys) {
    keys.emplace_back("data.partition", "by-label");
    return keys;
  };
  expect(with({}), "ed", "by-label");
  expect(with({{"optim.local-optimizer", "momentum"}}), "ed", "by-label");
  expect(with({{"optim.local-optimizer", "adam"}}), "gt", "adam");
  expect(with({{"cluster.preset", "wan"}}), "admm", "wan");
  expect(with({{"exchange.schedule", "async"}}), "admm", "for the slow");
  expect(with({{"exchange.quorum", ".7"}}), "admm", "for the slow");
  expect(with({{"exchange.schedule", "ssp"}, {"optim.local-optimizer", "adam"}}), "gt", "adam");
  expect(with({{"exchange.schedule", "async"}, {"optim.local-optimizer", "momentum"}}), "gt",
         "by-label");
  expect(with({{"exchange.schedule", "pairwise"}}), "pairwise-ed", "two at a time");
  expect(with({{"topology.kind", "complete"}}), "dpsgd", "neighbours");
  expect(with({{"topology.kind", "complete"}, {"optim.local-steps", "5"}}), "ed", "by-label");
  expect(with({{"topology.kind", "complete"}, {"optim.local-steps", "auto"}}), "ed", "by-label");
  expect(with({{"topology.kind", "complete"}, {"optim.local-optimizer", "adam"}}), "gt", "adam");
  expect(with({{"topology.kind", "complete"}, {"optim.local-optimizer", "momentum"}}), "dpsgd",
         "neighbours");
  expect(with({{"topology.kind", "complete"}, {"topology.sequence", "matching"}}), "ed",
         "by-label");
  expect(with({{"optim.local-optimizer", "adamw"}, {"topology.sequence", "matching"}}), "gt",
         "adam");
  expect(with({{"optim.outer", "nesterov"}}), "dpsgd+nesterov", "outer step");
  expect(with({{"topology.kind", "exponential"}}), "push-pull", "one way");
  expect(with({{"exchange.missing", "reuse"}}), "dpsgd", "reuse");
  for (const optim::MixRule& rule : optim::mix_rules())
    if (!rule.is_plain) {
      const std::string name(rule.name);
      expect(with({{"exchange.aggregation", name}}), "dpsgd", "may lie");
      expect(with({{"exchange.aggregation", name}, {"optim.local-optimizer", "adam"}}), "dpsgd",
             "may lie");
    }
  expect(with({{"exchange.aggregation", "clip"}, {"exchange.schedule", "pairwise"}}), "adpsgd",
         "may lie");
  expect({{"data.source", "reference"}}, "ed", "reference");
  expect({{"data.shard", "0/4"}}, "ed", "shard");
}

TEST_CASE("For trainers of which nothing is known an algorithm is chosen that is exact for any") {
  const auto with = [](Keys keys) {
    keys.emplace_back("model.kind", "external");
    return keys;
  };
  expect(with({}), "gt", "exact with any optimizer");
  expect(with({}), "gt", "it sends 2 vectors for one");
  expect(with({{"data.partition", "by-label"}}), "gt", "only the trainers");
  expect(with({{"optim.local-optimizer", "momentum"}}), "gt", "any optimizer");
  expect(with({{"optim.local-steps", "16"}}), "gt", "any optimizer");
  expect(with({{"topology.kind", "complete"}}), "gt", "any optimizer");
  expect(with({{"cluster.preset", "wan"}}), "gt", "any optimizer");
  expect(with({{"exchange.schedule", "async"}}), "gt", "any optimizer");
  expect(with({{"topology.sequence", "matching"}}), "gt", "any optimizer");
  expect(with({{"exchange.schedule", "pairwise"}}), "adpsgd", "no algorithm of pairs");
  expect(with({{"topology.kind", "exponential"}}), "push-pull", "one way");
  expect(with({{"exchange.missing", "self"}}), "dpsgd", "self");
  expect(with({{"optim.outer", "nesterov"}}), "dpsgd+nesterov", "outer step");
}

TEST_CASE("An algorithm that is named is not explained") {
  CHECK(choice({{"optim.algorithm", "gt"}}).second.empty());
}

TEST_CASE("Gradient tracking of parts with one neighbour a round is doubted") {
  const auto count = [](const Keys& keys) {
    return daemon::doubts(config_of(keys), daemon::schema()).size();
  };
  const Keys parts{
      {"optim.algorithm", "gt"}, {"topology.sequence", "matching"}, {"exchange.parts", "3"}};
  CHECK(count(parts) == 1);
  CHECK(count({parts[0], parts[1]}) == 0);
  CHECK(count({parts[0], parts[2]}) == 0);
  CHECK(count({parts[0], {"topology.sequence", "base:2"}, parts[2]}) == 0);
  CHECK(count({{"optim.algorithm", "ed"}, parts[1], parts[2]}) == 0);
}

TEST_CASE("Plain averaging that is named where data differ is answered with what auto takes") {
  const auto advice = [](const Keys& keys) { return config_of(keys).advice; };
  const std::pair<std::string, std::string> differ{"data.partition", "by-label"};
  const auto named = [](const char* algorithm) {
    return std::pair<std::string, std::string>{"optim.algorithm", algorithm};
  };
  CHECK(
      advice({differ, named("dpsgd")}) ==
      "optim.algorithm = dpsgd is biased, for data differ by node (data.partition=by-label); auto "
      "takes ed");
  CHECK(advice({differ, named("adpsgd")}).ends_with("auto takes ed"));
  CHECK(advice({differ, named("adpsgd"), {"exchange.schedule", "pairwise"}})
            .ends_with("auto takes pairwise-ed"));
  CHECK(advice({differ, named("ed")}).empty());
  CHECK(advice({differ}).empty());
  CHECK(advice({named("dpsgd")}).empty());
  // Only they know.
  CHECK(advice({named("dpsgd"), {"model.kind", "external"}}).empty());
  // Where all are neighbours plain averaging is exact.
  CHECK(advice({differ, named("dpsgd"), {"topology.kind", "complete"}}).empty());
}
