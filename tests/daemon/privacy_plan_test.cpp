#include "daemon/cli/offline/privacy_plan.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/daemon/planning.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

TEST_CASE("A plan tells the epsilon of each node by rounds") {
  const Words private_words{"-n",
                            "3",
                            "--privacy",
                            "--samples",
                            "60000",
                            "--optim.clip=1",
                            "--optim.noise=1.5",
                            "--optim.batch-size=2400",
                            "--stop.rounds=2250"};
  const auto text = plan(private_words);
  REQUIRE(text);
  CHECK(holds(*text, "2,250"));
  CHECK(holds(*text, "7.329"));  // as the accountant of opacus has it
  Words with_json = private_words;
  with_json.emplace_back("--json");
  const json document = json::parse(*plan(with_json));
  const json& privacy = document["privacy"];
  CHECK(privacy["samples"] == json{60000, 60000, 60000});
  CHECK(privacy["after"].back()["steps"] == 2250);
  CHECK(privacy["after"].back()["epsilon"][2].get<double>() ==
        doctest::Approx(7.32911117143).epsilon(1e-4));
}

TEST_CASE("A plan deals out the data to tell epsilon and says where there is none") {
  const auto text =
      plan(Words{"-n", "3", "--privacy", "--json", "--optim.clip=1", "--optim.noise=1",
                 "--data.samples=301", "--data.partition=contiguous"});
  REQUIRE(text);
  const json document = json::parse(*text);
  CHECK(document["privacy"]["samples"] == json{100, 100, 101});
  CHECK(holds(plan_error(Words{"-n", "3", "--privacy"}), "expected optim.noise above 0"));
  CHECK(holds(plan_error(Words{"-n", "3", "--samples", "5"}), "expected --privacy with it"));
  CHECK(holds(plan_error(Words{"-n", "3", "--privacy", "--optim.noise=1"}), "optim.clip above 0"));
}
