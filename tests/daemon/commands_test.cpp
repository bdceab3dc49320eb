#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "daemon/cli/ask/present.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/terminal/display.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/api.h"
#include "daemon/rest/fleet_json.h"
#include "daemon/rest/http_server.h"
#include "daemon/rest/status_json.h"
#include "tests/daemon/snapshot_example.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

int run(std::string_view name, const Words& arguments) {
  return carry_out(*find_command(name), arguments);
}

}  // namespace

// ---- asking a node

TEST_CASE("Commands tell their outcome by the exit code") {
  Board board;
  board.publish(std::make_shared<const Snapshot>(example_snapshot()));
  board.add(example_point(1));
  auto server = HttpServer::start({.host = "127.0.0.1", .port = 0},
                                  make_api(board, default_settings()));
  REQUIRE(server.has_value());
  const std::string url = "http://" + to_string((*server)->endpoint());
  for (const char* command : {"status", "members", "neighbors", "topology", "convergence"}) {
    CHECK(run(command, Words{"--api", url}) == 0);
    CHECK(run(command, Words{"--api", url, "--json"}) == 0);
  }
  CHECK(run("topology", Words{"--api", url, "--dot"}) == 0);
  CHECK(run("join", Words{"10.0.0.7:7600", "--api", url}) == 0);
  CHECK(run("leave", Words{"--api", url}) == 0);
  CHECK(run("set", Words{"--api", url}) == 0);
  CHECK(run("set", Words{"eval.every=3", "--api", url, "--json"}) == 0);
  CHECK(run("set", Words{"eval.every=0", "--api", url}) == 1);
  CHECK(run("set", Words{"eval.every", "--api", url}) == 2);
  CHECK(run("pause", Words{"--api", url}) == 0);
  CHECK(run("resume", Words{"--api", url}) == 0);
  const auto commands = board.take_commands();
  REQUIRE(commands.size() == 4);
  CHECK(std::holds_alternative<gossip::ResumeCommand>(commands[3]));
  for (std::size_t k = 0; k < kCommandsLimit; ++k) board.leave_command(gossip::LeaveCommand{});
  CHECK(run("leave", Words{"--api", url}) == 1);
  server->reset();
  CHECK(run("status", Words{"--api", url}) == 4);
  CHECK(run("leave", Words{"--api", url}) == 4);
}

TEST_CASE("Wrong usage asks nobody") {
  CHECK(run("status", Words{"--moon"}) == 2);
  CHECK(run("status", Words{"--dot"}) == 2);
  CHECK(run("status", Words{"again"}) == 2);
  CHECK(run("status", Words{"--json", "--watch"}) == 2);
  CHECK(run("status", Words{"--api", "https://a:1"}) == 2);
  CHECK(run("status", Words{"--topology.kind=ring"}) == 2);
  CHECK(run("status", Words{"--token-file", "/nowhere"}) == 2);
  CHECK(run("join", Words{}) == 2);
  CHECK(run("join", Words{"nowhere"}) == 2);
  CHECK(run("leave", Words{"--watch"}) == 2);
  CHECK(run("leave", Words{"--all"}) == 2);
  CHECK(run("status", Words{"--help"}) == 0);
}

TEST_CASE("A status for people says what matters") {
  const auto text = present("status", status_json(example_snapshot(), 1.0 / 3));
  REQUIRE(text.has_value());
  for (const char* part : {"node-0", "training", "one member is dead", "round 42", "90.0 %",
                           "distance 0.02", "degree 2", "1 dead", "4.00 kB", "computing 54.5 %",
                           "of that evaluating 18.2 %", "wrong cluster 1"})
    CHECK_MESSAGE(holds(*text, part), part);
  CHECK(holds(*text, "held-out "));
  Snapshot beside_trainer = example_snapshot();
  beside_trainer.trainer = TrainerStatus{};
  const auto other = present("status", status_json(beside_trainer, 1.0 / 3));
  CHECK(holds(*other, "last evaluated "));
  CHECK_FALSE(holds(*other, "held-out "));
  CHECK(present("status", status_json(Snapshot{}, std::nullopt)).has_value());
}

TEST_CASE("What people read says what auto chose as topology") {
  Snapshot snapshot = example_snapshot();
  CHECK(topology_kind_json(snapshot) == json{{"kind", "ring"}});
  snapshot.status.topology.options = std::make_shared<const topology::Options>(
      topology::Options{.kind = topology::Kind::automatic});
  const json kind{{"kind", "auto"}, {"chosen", "complete"}};
  CHECK(topology_kind_json(snapshot) == kind);
  CHECK(fleet_json(snapshot)["topology"] == kind);
  CHECK(holds(*present("status", status_json(snapshot, {})), "topology   complete (auto), "));
  CHECK(holds(*present("fleet", fleet_json(snapshot)), "topology   complete (auto)\n"));
}

TEST_CASE("The neighbours for people say whose vectors are not averaged and why") {
  CHECK(holds(*present("neighbors", neighbors_json(example_snapshot())), ": refused: stale 2\n"));
}

TEST_CASE("A status for people says what a codec that remembers carries and costs") {
  Snapshot snapshot = example_snapshot();
  ::setenv("COLUMNS", "100", 1);
  const std::string text = *present("status", status_json(snapshot, 1.0 / 3));
  CHECK(holds(text,
              "codec      i4, quality 0.97, 516 B a vector, 7.75 x less than f32, "
              "16.5 kB remembered\n"));
  CHECK(holds(*present("neighbors", neighbors_json(snapshot)), "QUALITY"));
  snapshot.status.run.codec.memory_bytes = 0;
  snapshot.status.edges.front().codec_quality = 1;
  CHECK_FALSE(holds(*present("status", status_json(snapshot, 1.0 / 3)), "codec"));
  CHECK_FALSE(holds(*present("neighbors", neighbors_json(snapshot)), "QUALITY"));
  ::unsetenv("COLUMNS");
}

TEST_CASE("Lists for people have a row for every entry") {
  const Snapshot snapshot = example_snapshot();
  CHECK(holds(*present("members", members_json(snapshot)), "node-2  suspect"));
  CHECK(holds(*present("members", members_json(snapshot)), ":7600  :7680"));
  CHECK(holds(*present("neighbors", neighbors_json(snapshot)), "2.00 kB"));
  const auto graph = snapshot.status.topology.graph();
  CHECK(holds(*present("topology", topology_json(snapshot, graph.get(), 0.5)),
              "4 nodes, 4 edges, connected"));
}

TEST_CASE("The fleet for people has the mean of its sentence beside that of the extremes") {
  Snapshot snapshot = example_snapshot();
  snapshot.status.fleet.extremes_age = std::chrono::milliseconds(8'500);
  snapshot.status.fleet.spreads[static_cast<std::size_t>(gossip::Quantity::loss)] = {
      .mean = .157, .error = .01, .least = .3, .most = .5, .mean_then = .405};
  const std::string text = *present("fleet", fleet_json(snapshot));
  CHECK(holds(text, "loss 0.157"));
  CHECK(holds(text, "A NODE'S    NOW   MEAN  SMALLEST  LARGEST"));
  CHECK(holds(text, "loss      0.157  0.405"));
  CHECK(holds(text, "mean, smallest and largest are of 8.5 s ago"));
}

TEST_CASE("A long series for people is thinned to its last round") {
  std::vector<gossip::Progress> series;
  for (std::uint64_t round = 1; round <= 1'003; ++round) series.push_back(example_point(round));
  const std::string text = *present("convergence", convergence_json(series));
  CHECK(std::ranges::count(text, '\n') == 24);
  CHECK(holds(text, " 1003 "));
  CHECK(holds(text, "█"));
  CHECK(holds(*present("convergence", convergence_json({})), "no round"));
}

TEST_CASE("A series for people shows the rounds that were evaluated") {
  std::vector<gossip::Progress> series;
  for (std::uint64_t round = 1; round <= 1'003; ++round) {
    series.push_back(example_point(round));
    if (round % 50 != 0) series.back().accuracy = series.back().rmse = std::nullopt;
  }
  const std::string text = *present("convergence", convergence_json(series));
  for (const char* round : {"  50 ", " 500 ", " 950 "}) CHECK_MESSAGE(holds(text, round), round);
}

TEST_CASE("What people read fits sixty columns") {
  std::vector<gossip::Progress> series;
  for (std::uint64_t round = 1; round <= 103; ++round) series.push_back(example_point(round));
  const Snapshot snapshot = example_snapshot();
  for (const auto& [command, document] : {std::pair{"status", status_json(snapshot, 1.0 / 3)},
                                          {"members", members_json(snapshot)},
                                          {"neighbors", neighbors_json(snapshot)},
                                          {"convergence", convergence_json(series)}}) {
    ::setenv("COLUMNS", "60", 1);
    std::istringstream text(*present(command, document));
    ::unsetenv("COLUMNS");
    for (std::string line; std::getline(text, line);)
      CHECK_MESSAGE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <= 60,
                    line);
  }
  const gossip::NodeSummary node{
      .name = "node-7", .round = 123'456, .loss = 0.25, .accuracy = 0.9, .distance = 0.01};
  const std::string table = node_table(std::vector{node});
  CHECK(table.find('\n') <= 60);
  CHECK(holds(table, "0.25000"));
}

TEST_CASE("A table leaves out what is not needed where there is no room") {
  Table table({"NAME", "?>EMPTY", "?>FIRST", "?>LAST"});
  table.add({"a", "-", "1", "2"});
  CHECK(table.text() == "NAME  FIRST  LAST\na         1     2\n");
  CHECK(table.text(16) == "NAME  FIRST\na         1\n");
  CHECK(table.text(0) == "NAME\na\n");
}

TEST_CASE("An answer of another shape is an error and no crash") {
  for (const char* command : {"status", "members", "neighbors", "topology", "convergence"}) {
    CHECK_FALSE(present(command, json::object()).has_value());
    CHECK_FALSE(present(command, json::parse("[[[", nullptr, false)).has_value());
    for (const char* text : {"[]", "7", "null",
                             R"({"node":7,"members":7,"neighbors":[7],)"
                             R"("nodes":7,"edges":[7],"series":[7]})",
                             R"({"run":{"round":"x"},"members":[{"name":7}],"series":{"a":1},)"
                             R"("neighbors":[{"rejected":{"a":[]}}],"connected":7})"})
      static_cast<void>(present(command, json::parse(text)));
  }
  CHECK_FALSE(present("status", json::parse(R"({"run":{"round":"x"}})")).has_value());
}

// ---- words and figures

TEST_CASE("Figures are for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1234) == "1.23 kB");
  CHECK(human_bytes(999'999) == "1.00 MB");
  CHECK(human_bytes(123.4e9) == "123 GB");
  CHECK(human_duration(0.0031) == "3.1 ms");
  CHECK(human_duration(75) == "1 min 15 s");
  CHECK(human_duration(90'000) == "1 d 1 h");
  CHECK(human_duration(std::numeric_limits<double>::infinity()) == "forever");
  CHECK(human_fraction(0.9371) == "93.7 %");
}

TEST_CASE("A table aligns its columns") {
  Table table({"NAME", ">ROUND"});
  table.add({"node-0", "7"});
  table.add({"é", "1234567"});
  CHECK(table.text() == "NAME      ROUND\nnode-0        7\né       1234567\n");
}

TEST_CASE("A sparkline runs from the first value to the last") {
  CHECK(sparkline(std::array{0.0, 1.0}, 10) == "▁█");
  CHECK(sparkline(std::array{1.0, 1.0, 1.0}, 10) == "▁▁▁");
  CHECK(sparkline(std::array{1e-4, 1e-2, 1.0}, 3) == "▁▅█");
  CHECK(sparkline(std::array{3.0, 5.0, 2.0, 1.0}, 2) == "▅▁");
  CHECK(sparkline(std::array<double, 0>{}, 10).empty());
}
