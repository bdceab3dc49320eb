#include "daemon/setup/config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace starling;
using namespace starling::daemon;

TEST_CASE("A value that is no UTF-8 is shown all the same") {
  const SettingSources sources{.keys = {{"data.path", "caf\xe9.csv"}}};
  const auto settings = load_settings(schema(), sources);
  REQUIRE(settings.has_value());
  const auto document = nlohmann::json::parse(config_json(*settings));
  CHECK(document["data.path"]["value"] == "caf\xef\xbf\xbd.csv");
}
