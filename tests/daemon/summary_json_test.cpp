#include "daemon/rest/summary_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

using namespace starling;

TEST_CASE("A summary has the names of the interface and leaves out what does not apply") {
  gossip::Summary summary;
  summary.nodes.push_back(
      {.name = "node-0", .round = 7, .loss = 0.5, .distance = 0.1, .sent_bytes = 0});
  summary.nodes.push_back({.name = "node-1", .loss = std::numeric_limits<double>::quiet_NaN()});
  summary.series.push_back({.round = 7, .time_s = 2, .loss = 0.5, .accuracy = 0.9});
  summary.goal = {.reached = true, .reason = "all rounds", .round = 7, .wanted = {.rounds = 7}};
  summary.members.alive = 2;
  summary.event_hash = 0xabc;
  const auto json = daemon::summary_json(summary);
  CHECK(json["nodes"][0] ==
        nlohmann::ordered_json{
            {"name", "node-0"}, {"round", 7}, {"loss", 0.5}, {"distance", 0.1}, {"sent_bytes", 0}});
  CHECK_FALSE(json["nodes"][1].contains("loss"));
  CHECK_FALSE(json["nodes"][1].contains("sent_bytes"));  // of a guest they are not known
  CHECK(json["series"][0].size() == 4);
  CHECK(json["goal"]["reached"] == true);
  CHECK(json["goal"]["rounds"] == 7);
  CHECK(json["members"]["alive"] == 2);
  CHECK(json["event_hash"] == "0000000000000abc");
  for (const char* name : {"wall_s", "virtual_s", "seed", "violations", "trace"})
    CHECK_FALSE(json.contains(name));
}

TEST_CASE("A broken law is an object of its name and time and node") {
  gossip::Summary summary;
  summary.violations.push_back(
      {.law = "all agree", .time_s = 30.5, .node = "node-3", .text = "it is alone"});
  CHECK(daemon::summary_json(summary)["violations"][0] ==
        nlohmann::ordered_json{
            {"law", "all agree"}, {"time_s", 30.5}, {"node", "node-3"}, {"text", "it is alone"}});
}

TEST_CASE("A summary lists the records of a trace with their nodes") {
  gossip::Summary summary;
  summary.trace.push_back({.time_s = 0.5, .nodes = {{.name = "node-0", .round = 3}}});
  const auto json = daemon::summary_json(summary);
  CHECK(json["trace"].size() == 1);
  CHECK(json["trace"][0]["time_s"] == 0.5);
  CHECK(json["trace"][0]["nodes"][0] == nlohmann::ordered_json{{"name", "node-0"}, {"round", 3}});
}
