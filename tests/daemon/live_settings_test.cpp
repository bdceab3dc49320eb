#include "daemon/setup/live_settings.h"

#include <doctest/doctest.h>

using namespace starling;
using namespace starling::daemon;

namespace {

std::string refusal_of(const LiveSettings& settings, const Term& change) {
  const std::vector<Term> changes{change};
  const auto config = settings.tried(changes);
  return config ? "" : config.error().text;
}

}  // namespace

TEST_CASE("Every key is live or says how it is changed instead") {
  const LiveSettings settings{Settings(schema())};
  std::size_t live = 0;
  for (const Key& key : schema().keys()) {
    CAPTURE(key.name);
    const std::string refusal =
        refusal_of(settings, {key.name, settings.settings().text(key.name)});
    CHECK(refusal.empty() == key.is_live);
    if (!key.is_live) CHECK(refusal.find("at the next start") != std::string::npos);
    live += key.is_live;
    CHECK(settings.to_json().contains(key.name) == key.is_live);
  }
  CHECK(live >= 4);
}

TEST_CASE("What is wrong with a change is said with what is allowed") {
  const LiveSettings settings{Settings(schema())};
  CHECK(refusal_of(settings, {"eval.sometimes", "1"}).find("those of a running node are") !=
        std::string::npos);
  CHECK(refusal_of(settings, {"topology.kind", "ring"}).find("of all nodes") != std::string::npos);
  CHECK(refusal_of(settings, {"eval.every", "0"}) ==
        "set while running: eval.every = \"0\": expected a whole number from 1 to 1000000000");
}

TEST_CASE("A file that is gone since the start keeps no setting from being changed") {
  Settings settings(schema());
  settings.set("model.from", "/gone/model.safetensors", "command line");
  CHECK(refusal_of(LiveSettings(settings), {"eval.every", "3"}).empty());
}

TEST_CASE("A setting that was taken is that of the next change") {
  LiveSettings settings{Settings(schema())};
  const std::vector<Term> first{{"eval.every", "3"}}, second{{"node.log", "error"}};
  settings.take(first, 12);
  const auto config = settings.tried(second);
  REQUIRE(config);
  CHECK(config->node.evaluation.every == 3);
  CHECK(config->log_level == log::Level::error);
  CHECK(settings.to_json()["eval.every"]["since_round"] == 12);
  CHECK(settings.to_json()["node.log"]["since_round"] == 0);
}
