#include "daemon/setup/live_settings.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;

namespace {

LiveSettings settings_with(const std::vector<Term>& given) {
  Settings settings(schema());
  for (const auto& [key, value] : given) settings.set(key, value, "command line");
  return {settings, *read_config(settings, {})};
}

std::string refusal_of(const LiveSettings& settings, const Term& change) {
  const std::vector<Term> changes{change};
  const auto config = settings.with(changes);
  return config ? "" : config.error().text;
}

// As if these had been set before round 7.
gossip::SettingsStatus changed(const std::vector<Term>& terms) {
  return {.changes = {{.round = 7, .number = 1, .author = "node-2", .terms = terms}}};
}

}  // namespace

TEST_CASE("Every key is live or says how it is changed instead") {
  const LiveSettings settings = settings_with({});
  std::size_t live = 0;
  for (const Key& key : schema().keys()) {
    CAPTURE(key.name);
    const std::string refusal =
        refusal_of(settings, {key.name, settings.settings().text(key.name)});
    CHECK(refusal.empty() == key.is_live);
    if (!key.is_live) CHECK(refusal.find("at the next start") != std::string::npos);
    live += key.is_live;
    CHECK(settings.to_json({}, 0).contains(key.name) == key.is_live);
  }
  CHECK(live >= 19);
}

TEST_CASE("A live key that is changed is found in the configuration") {
  const LiveSettings settings = settings_with({});
  const auto with = [&settings](const std::vector<Term>& terms) { return *settings.with(terms); };
  CHECK(with({{"optim.learning-rate", ".5"}}).learner.optim.learning_rate == .5);
  CHECK(with({{"optim.local-steps", "3"}}).node.local_steps.fixed == 3);
  CHECK(with({{"topology.kind", "ring"}}).node.topology.kind == topology::Kind::ring);
  CHECK(with({{"stop.rounds", "70"}}).node.goal.rounds == 70);
  CHECK(with({{"checkpoint.every", "10m"}}).node.checkpoint.every == from_seconds(600));
  CHECK(with({{"node.log", "error"}}).log_level == log::Level::error);
  CHECK(with({{"optim.algorithm", "gt"}}).node.algorithm == "gt");
  CHECK(with({{"exchange.schedule", "ssp"}}).node.schedule == gossip::schedule_named("ssp"));
  CHECK(with({{"exchange.codec", "i8"}}).node.codec == "i8");
  CHECK(form_of(with({{"exchange.codec", "i8"}}).node) != form_of(with({}).node));
  CHECK(form_of(with({{"exchange.quorum", ".5"}}).node) != form_of(with({}).node));
  CHECK(form_of(with({{"optim.learning-rate", ".5"}}).node) == form_of(with({}).node));
}

TEST_CASE("What is wrong with a change is said with what is allowed") {
  const LiveSettings settings = settings_with({});
  CHECK(refusal_of(settings, {"eval.sometimes", "1"}).find("those of a running node are") !=
        std::string::npos);
  CHECK(refusal_of(settings, {"model.kind", "mlp"}).find("of all nodes") != std::string::npos);
  CHECK(refusal_of(settings, {"eval.every", "0"}) ==
        "set while running: eval.every = \"0\": expected a whole number from 1 to 1000000000");
  CHECK(refusal_of(settings, {"topology.kind", "exponential"}) == "");
  CHECK(refusal_of(settings_with({{"topology.kind", "random"}}), {"topology.degree", "3"})
            .find("even") != std::string::npos);
}

TEST_CASE("A trainer of the user's own keeps its learning rate and takes other local steps") {
  const LiveSettings settings = settings_with({{"model.kind", "external"}});
  CHECK(refusal_of(settings, {"optim.learning-rate", "0.1"}).find("by itself") !=
        std::string::npos);
  CHECK(refusal_of(settings, {"optim.local-steps", "4"}).empty());
  CHECK(refusal_of(settings, {"exchange.codec", "i8"}).empty());
  CHECK(refusal_of(settings, {"exchange.schedule", "async"}).empty());
  CHECK(refusal_of(settings, {"optim.algorithm", "ed"}).find("by itself") != std::string::npos);
}

TEST_CASE("A file that is gone since the start keeps no setting from being changed") {
  Settings settings(schema());
  const Config config = *read_config(settings, {});
  settings.set("model.from", "/gone/model.safetensors", "command line");
  CHECK(refusal_of(LiveSettings(settings, config), {"eval.every", "3"}).empty());
}

TEST_CASE("A change goes with those before it and tells own keys from agreed ones") {
  const LiveSettings settings = settings_with({});
  const auto now = changed({{"topology.kind", "random"}});
  const std::vector<Term> odd{{"topology.degree", "3"}},
      both{{"eval.every", "3"}, {"stop.rounds", "9"}};
  CHECK_FALSE(settings.command(odd, now, 8, {}));
  const auto command = settings.command(both, now, 8, {});
  REQUIRE(command);
  CHECK(command->own == std::vector<Term>{{"eval.every", "3"}});
  CHECK(command->agreed == std::vector<Term>{{"stop.rounds", "9"}});
}

TEST_CASE("The present values say since when they hold and by whom") {
  const LiveSettings settings = settings_with({});
  gossip::SettingsStatus now = changed({{"stop.rounds", "90"}});
  now.changes.push_back(
      {.round = 20, .number = 2, .author = "node-1", .terms = {{"stop.rounds", "95"}}});
  now.own.push_back({{"eval.every", "3"}, 5});
  const nlohmann::json document = settings.to_json(now, 8);
  CHECK(document["stop.rounds"]["value"] == "90");
  CHECK(document["stop.rounds"]["since_round"] == 7);
  CHECK(document["stop.rounds"]["by"] == "node-2");
  CHECK(document["stop.rounds"]["next"][0]["from_round"] == 20);
  CHECK(document["eval.every"]["since_round"] == 5);
  CHECK(document["node.log"]["since_round"] == 0);
}
