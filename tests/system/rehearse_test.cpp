// starling rehearse: a fleet that does not exist yet, from a file of ten lines.
#include <doctest/doctest.h>

#include <string>

#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::run;

namespace {

constexpr char kFleet[] = R"(model 100MB
step 500ms
region home 3 machines 100mbit/500mbit
region lab 2 machines 1gbit slower 1.5
link home lab 40ms
link lab lab 4ms 800mbit
set optim.local-steps=8
published 50%
)";

testing::Outcome rehearse(const std::string& text, const std::string& more) {
  return run("rehearse " + testing::temporary_file("fleet.txt", text) + " " + more);
}

}  // namespace

TEST_CASE("A file of a fleet gives computing and bytes and the settings to take") {
  const testing::Outcome outcome = rehearse(kFleet, "--json --rounds 12");
  CAPTURE(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const json document = json::parse(outcome.out);
  CHECK(document["machines"] == 5);
  CHECK(document["published"] == 0.5);
  REQUIRE(document["tries"].size() > 3);
  CHECK(document["tries"][0]["settings"].empty());
  for (const json& one : document["tries"]) {
    CHECK(one["goodput"] > 0);
    CHECK(one["goodput"] <= 1);
    CHECK(one["bytes_a_day"] > 1e8);
  }
  CHECK(document.contains("chosen"));
  const auto computing = [](const std::string& size) -> double {
    const testing::Outcome one =
        rehearse(kFleet, "--json --only --rounds 12 --model-bytes " + size);
    REQUIRE(one.exit_code == 0);
    return json::parse(one.out)["tries"][0]["goodput"];
  };
  CHECK(computing("200MB") < computing("50MB"));
  const testing::Outcome text = rehearse(kFleet, "--only --rounds 12");
  CHECK(text.out.find("5 machines in 2 regions, a model of 100 MB, 500 ms a step") == 0);
  CHECK(text.out.find("Published: 50.0 %") != std::string::npos);
}

TEST_CASE("A fleet that cannot be is said in a sentence before anything is played") {
  const auto error = [](const std::string& text, const std::string& more = "") {
    const testing::Outcome outcome = rehearse(text, more);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.error_lines() == 1);
    return outcome.err;
  };
  const std::string fleet = kFleet;
  CHECK(error(fleet + "link home mars 1s")
            .find("there is no region mars; expected one of home, lab") != std::string::npos);
  CHECK(error(fleet + "region far 2 machines 0bit").find("\"0bit\": expected 8bit to 1000GB") !=
        std::string::npos);
  CHECK(error(fleet, "--model-bytes 100TB")
            .find("a model of 100 TB takes 92 d 14 h over the link of a machine of home") !=
        std::string::npos);
  CHECK(error(fleet, "--exchange.codec=i5").find("exchange.codec") != std::string::npos);
  CHECK(error(fleet, "--step-time never").find("--step-time never: expected a time") !=
        std::string::npos);
  CHECK(error(fleet, "--rounds 2.5").find("--rounds 2.5: expected a whole number from 2 to") !=
        std::string::npos);
  CHECK(error("region a 2 machines 1gbit\n").find("expected \"model SIZE\", or --model-bytes") !=
        std::string::npos);
  CHECK(run("rehearse no-such-file.txt").err.find("there is no such file") != std::string::npos);
}
