#include "daemon/cli/ask/export_text.h"

#include <doctest/doctest.h>

#include "daemon/rest/status_json.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

NodeExport example_export() {
  gossip::Progress first = example_point(1);
  first.accuracy = first.rmse = first.evaluation_loss = std::nullopt;
  const std::vector<gossip::Progress> series = {first, example_point(2)};
  const std::vector<LoggedEvent> events = {
      {7, 10, "2026-07-01T12:00:00+0200", {gossip::Event::Kind::started, "begins"}},
      {8, 11, "2026-07-01T12:00:01+0200", {gossip::Event::Kind::data, "says \"a\", twice"}}};
  auto node = read_export(status_json(example_snapshot(), std::nullopt), convergence_json(series),
                          events_json(events), 1060);
  REQUIRE(node.has_value());
  return *node;
}

}  // namespace

TEST_CASE("The training begins as long after the process as the event says") {
  CHECK(example_export().started == 1010);  // of a process that is 60 s old at 1060
  const auto without =
      read_export(status_json(example_snapshot(), std::nullopt), json(), json(), 1060);
  REQUIRE(without.has_value());
  CHECK(without->started == 1000);
  CHECK(without->series.empty());
}

TEST_CASE("A table of the series leaves empty what was not measured") {
  const std::string text = convergence_csv(std::vector{example_export(), example_export()});
  CHECK(
      text.starts_with("node,round,time_s,loss,held_out_loss,accuracy,rmse,distance,"
                       "distance_to_optimum,bytes\r\n"
                       "node-0,1,0.5,0.5,,,,0.02,0.01,100\r\n"
                       "node-0,2,1.0,0.3333333333333333,0.3,0.9,0.7,0.02,0.01,200\r\n"
                       "node-0,1,"));
}

TEST_CASE("A table of events quotes what would end a field") {
  CHECK(events_csv(std::vector{example_export()}) ==
        "node,sequence,time_s,at,kind,text\r\n"
        "node-0,7,10.0,2026-07-01T12:00:00+0200,started,begins\r\n"
        "node-0,8,11.0,2026-07-01T12:00:01+0200,data,\"says \"\"a\"\", twice\"\r\n");
}

TEST_CASE("Lines of JSON say of which node and which kind they are") {
  const std::string text = export_jsonl(std::vector{example_export()});
  std::vector<json> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  REQUIRE(lines.size() == 4);
  for (const json& line : lines) CHECK(line["node"] == "node-0");
  CHECK(lines[0]["record"] == "convergence");
  CHECK_FALSE(lines[0].contains("accuracy"));
  CHECK(lines[3]["record"] == "event");
  CHECK(lines[3]["text"] == "says \"a\", twice");
}

TEST_CASE("What is no document of a node is not exported") {
  const json status = status_json(example_snapshot(), std::nullopt);
  CHECK_FALSE(read_export(json::parse("[]"), json(), json(), 0).has_value());
  CHECK_FALSE(read_export(json{{"node", {{"name", 1}}}}, json(), json(), 0).has_value());
  CHECK_FALSE(read_export(status, json{{"points", json::array()}}, json(), 0).has_value());
  CHECK_FALSE(read_export(status, json("series"), json(), 0).has_value());
  const auto odd = read_export(status, json{{"series", {1, nullptr, {{"round", "x"}}}}}, json(), 0);
  REQUIRE(odd.has_value());
  CHECK(odd->series.size() == 1);
  CHECK_FALSE(export_tensorboard(*odd).empty());
}
