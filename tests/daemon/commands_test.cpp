#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "daemon/cli/ask/present.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/offline/commands.h"
#include "daemon/cli/terminal/display.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/api.h"
#include "daemon/rest/http_server.h"
#include "daemon/rest/status_json.h"
#include "optim/codec/format.h"
#include "optim/codec/wire_form.h"
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

Result<std::string> plan(const Words& arguments) {
  TRY(const CommandLine line, parse_command_line(arguments, kPlan));
  return plan_text(line);
}

std::string plan_error(const Words& arguments) {
  const auto text = plan(arguments);
  return text ? "no error" : text.error().text;
}

// A file that goes away with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    std::string path = (std::filesystem::temp_directory_path() / "starling-XXXXXX").string();
    ::close(::mkstemp(path.data()));
    path_ = path;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

// ---- plan

TEST_CASE("A plan leads edges around nodes that nobody can dial") {
  const auto text =
      plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "node-2,node-3", "--json"});
  REQUIRE(text.has_value());
  const json document = json::parse(*text);
  CHECK(document["hidden"] == json{"node-2", "node-3"});
  CHECK(document["replaced"] == json{{{"from", "node-2"}, {"to", "node-3"}}});
  CHECK(document["detours"].size() == 2);
  CHECK(document["connected"] == true);
  CHECK(*plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "2", "--json"}) == *text);
  CHECK(holds(*plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "2"}),
              "2 nodes; 1 edges of two of them give way to 2 others"));
  CHECK(holds(*plan(Words{"-n", "4", "--hidden", "1", "--dot"}), "\"node-3\" [style=dashed];"));
  CHECK(holds(plan_error(Words{"-n", "4", "--hidden", "5"}), "expected 0 to 4"));
  CHECK(holds(plan_error(Words{"-n", "4", "--hidden", "node-9"}), "there is no node-9"));
}

TEST_CASE("A plan is one JSON document with what a topology costs") {
  const auto text =
      plan(Words{"--topology.kind=ring", "-n", "16", "--json", "--model-bytes", "1000"});
  REQUIRE(text.has_value());
  const json plan = json::parse(*text);
  CHECK(plan["kind"] == "ring");
  CHECK(plan["nodes"] == 16);
  CHECK(plan["edges"] == 16);
  CHECK(plan["degree"] == json{{"least", 2}, {"most", 2}, {"mean", 2.0}});
  CHECK(plan["diameter"] == 8);
  CHECK(plan["spectral_gap"].get<double>() == doctest::Approx(0.0507).epsilon(0.01));
  CHECK(plan["rounds_to_consensus"] == 225);
  CHECK(plan["bytes_per_round"] == json{{"node", 2000.0}, {"total", 32000.0}});
  CHECK(plan["codec"] == json{{"name", "f32"}, {"vector_bytes", 1000.0}, {"memory_bytes", 0.0}});
}

TEST_CASE("A plan computes the size of the model of a configuration") {
  const Words words = {"-n", "4", "--model-bytes", "auto", "--json", "--model.hidden=2"};
  CHECK(json::parse(*plan(words))["model_bytes"] == 4 * (784 * 2 + 2 + 2 * 10 + 10));
}

// 940584 bytes: 235146 numbers, 918 blocks of 256 with four bits a number and a scale of four
// bytes, and one of 138.
TEST_CASE("A plan says what the codec sends and remembers") {
  constexpr double kModel = 940'584, kVector = 918 * 132 + 73;
  const auto with = [](Words more) {
    Words words = {"--topology.kind=ring", "-n", "16", "--model-bytes", "940584"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    return text ? *text : text.error().text;
  };
  const auto codec = [&](Words more) {
    more.emplace_back("--json");
    return json::parse(with(more));
  };
  const json i4 = codec({"--exchange.codec=i4"});
  CHECK(i4["codec"] ==
        json{{"name", "i4"}, {"vector_bytes", kVector}, {"memory_bytes", 4 * kModel}});
  CHECK(i4["bytes_per_round"]["node"] == 2 * kVector);
  const json parts = codec({"--exchange.codec=i4", "--exchange.parts=4"});
  CHECK(parts["codec"]["vector_bytes"].get<double>() == doctest::Approx(kVector / 4).epsilon(1e-3));
  CHECK(parts["codec"]["memory_bytes"] == 4 * kModel);
  // As many numbers, of twice the size in the memory.
  const json wide = codec({"--exchange.codec=i4", "--model.precision=f64"});
  CHECK(wide["codec"]["vector_bytes"].get<double>() == doctest::Approx(kVector / 2).epsilon(1e-3));
  CHECK(wide["codec"]["memory_bytes"] == 4 * kModel);
  CHECK(codec({"--exchange.codec=bf16"})["codec"] ==
        json{{"name", "bf16"}, {"vector_bytes", kModel / 2}, {"memory_bytes", 0.0}});
  const json tracking = codec({"--exchange.codec=i4", "--optim.algorithm=gt"});
  CHECK(tracking["codec"]["vector_bytes"] == 2 * kVector);
  CHECK(tracking["codec"]["memory_bytes"] == 8 * kModel);
  CHECK(holds(with({"--exchange.codec=i4"}),
              "i4, 121 kB a vector, 7.76 x less than f32, 3.76 MB remembered a node"));
  CHECK(holds(with({}), "f32, 941 kB a vector\n"));
  CHECK(holds(with({"--exchange.codec=auto"}), "auto, 941 kB a vector, down to 121 kB"));
  CHECK(holds(with({"--exchange.codec=i5"}), "expected one of native, f32"));
}

TEST_CASE("A plan has every codec that goes with the run") {
  const auto names = [](Words more) {
    Words words = {"--topology.kind=ring", "-n", "16", "--model-bytes", "940584", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    REQUIRE(text.has_value());
    Words all;
    const json document = json::parse(*text);
    for (const json& codec : document["codecs"]) {
      all.push_back(codec["name"].get<std::string>());
      CHECK(codec["vector_bytes"].get<double>() > 0);
      CHECK(codec["memory_bytes"].get<double>() >= 0);
    }
    return all;
  };
  CHECK(names({}) == optim::wire_form_names());
  Words plain;
  for (const optim::Format& format : optim::formats()) plain.emplace_back(format.name);
  CHECK(names({"--exchange.missing=reuse"}) == plain);
}

TEST_CASE("A plan names four bits a number where they are legal and gain something") {
  const auto ways = [](Words more) {
    Words words = {"-n",      "16",          "--model-bytes", "940584", "--bandwidth",
                   "100mbit", "--step-time", "0.01",          "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    REQUIRE(text.has_value());
    Words names;
    const json document = json::parse(*text);
    for (const json& way : document["link"]["ways"]) names.push_back(way["way"].get<std::string>());
    return names;
  };
  const auto names_i4 = [](const Words& names) {
    return std::ranges::find(names, "codec = i4") != names.end();
  };
  CHECK(names_i4(ways({"--topology.kind=ring"})));
  CHECK(names_i4(ways({"--topology.kind=ring", "--exchange.codec=bf16"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=exponential"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=ring", "--exchange.missing=reuse"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=ring", "--exchange.codec=i2"})));
}

TEST_CASE("A plan for people has a line for every figure") {
  const auto text = plan(Words{"-n", "16"});
  REQUIRE(text.has_value());
  for (const char* title :
       {"topology", "degree", "diameter", "spectral gap", "rounds to consensus", "bytes per round"})
    CHECK(holds(*text, title));
  CHECK(plan(Words{"-n", "1"}).has_value());
}

TEST_CASE("A plan says what a round takes on a link") {
  const auto text = plan(Words{"-n", "16", "--topology.kind=ring", "--model-bytes", "940584",
                               "--bandwidth", "100mbit", "--step-time", "0.01", "--json"});
  REQUIRE(text.has_value());
  const json link = json::parse(*text)["link"];
  CHECK(link["bytes_per_s"] == 12.5e6);
  const double vector_s = 940584 / 12.5e6;
  const double i8_s = (918 * 260 + 142) / 12.5e6, i4_s = (918 * 132 + 73) / 12.5e6;
  const double i2_s = (918 * 68 + 39) / 12.5e6, top_s = 23'788 / 12.5e6;
  const std::array<std::pair<const char*, double>, 12> expected = {
      {{"dpsgd", 0.01 + 2 * vector_s},
       {"dpsgd-pipelined", 2 * vector_s},
       {"adpsgd", vector_s},
       {"codec = f16", 0.01 + vector_s},
       {"codec = bf16", 0.01 + vector_s},
       {"codec = i8", 0.01 + 2 * i8_s},
       {"codec = i4", 0.01 + 2 * i4_s},
       {"codec = i2", 0.01 + 2 * i2_s},
       {"ed, codec = top:5%", 0.01 + 2 * top_s},
       {"local-steps = 8", 0.08 + 2 * vector_s},
       {"matching, local-steps = 8", 0.08 + vector_s},
       {"local-steps = 136", 1.36 + 2 * vector_s}}};
  REQUIRE(link["ways"].size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CHECK(link["ways"][k]["way"] == expected[k].first);
    CHECK(link["ways"][k]["round_s"].get<double>() ==
          doctest::Approx(expected[k].second).epsilon(1e-5));
  }
  CHECK(link["ways"][0]["computing"].get<double>() ==
        doctest::Approx(0.01 / (0.01 + 2 * vector_s)));
  CHECK(link["ways"][2]["gain"].get<double>() == doctest::Approx((0.01 + 2 * vector_s) / vector_s));
}

TEST_CASE("Nothing is gained over a link that costs nothing beside the step") {
  const auto text = plan(
      Words{"-n", "4", "--model-bytes", "4", "--bandwidth", "10GB", "--step-time", "1", "--json"});
  REQUIRE(text.has_value());
  const json ways = json::parse(*text)["link"]["ways"];
  CHECK(ways.size() == 7);
  for (const json& way : ways) CHECK(way["gain"].get<double>() == doctest::Approx(1));
}

TEST_CASE("The bandwidth of a plan is a number with a unit") {
  const auto bytes_per_s = [](const std::string& rate) {
    const auto text = plan(
        Words{"-n", "4", "--model-bytes", "4", "--bandwidth", rate, "--step-time", "1", "--json"});
    return text ? json::parse(*text)["link"]["bytes_per_s"].get<double>() : -1;
  };
  CHECK(bytes_per_s("8bit") == 1);
  CHECK(bytes_per_s("10mbit") == 1.25e6);
  CHECK(bytes_per_s("1gbit") == 125e6);
  CHECK(bytes_per_s("12.5MB") == 12.5e6);
  for (const char* wrong : {"100", "mbit", "100Mb", "-1mbit", "0gbit", "1e30GB", "2000GB", ""}) {
    CAPTURE(wrong);
    CHECK(bytes_per_s(wrong) == -1);
  }
}

TEST_CASE("A plan of a link says what is missing or wrong") {
  const auto error = [](Words more) {
    Words words = {"-n", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return plan_error(words);
  };
  CHECK(holds(error({"--bandwidth", "1gbit"}), "all three"));
  CHECK(holds(error({"--step-time", "1", "--model-bytes", "4"}), "all three"));
  const Words sized = {"--model-bytes", "4", "--bandwidth"};
  const auto with = [&](const std::string& bandwidth, const std::string& step) {
    return error({sized[0], sized[1], sized[2], bandwidth, "--step-time", step});
  };
  CHECK(holds(with("7parsec", "1"), "--bandwidth \"7parsec\": expected a number and bit"));
  CHECK(holds(with("1gbit", "0"), "--step-time 0: expected seconds above 0"));
}

TEST_CASE("A plan draws its graph") {
  const auto text = plan(Words{"-n", "3", "--topology.kind=path", "--dot"});
  REQUIRE(text.has_value());
  CHECK(holds(*text, "\"node-0\" -- \"node-1\";"));
  CHECK_FALSE(holds(*text, "\"node-0\" -- \"node-2\";"));
}

TEST_CASE("A plan that cannot be says why") {
  CHECK(holds(plan_error({}), "-n"));
  CHECK(holds(plan_error({"-n", "0"}), "expected a whole number"));
  CHECK(holds(plan_error({"-n", "8", "--topology.kind=moon"}), "expected one of"));
  CHECK(holds(plan_error({"-n", "8", "--topology.knid=ring"}), "did you mean topology.kind"));
  CHECK(holds(plan_error({"-n", "6", "--topology.kind=hypercube"}), "power of two"));
  CHECK(holds(plan_error({"-n", "6", "--json", "--dot"}), "one of them"));
  CHECK(holds(plan_error({"-n", "6", "ring"}), "ring"));
  CHECK(run("plan", Words{"-n", "six"}) == 2);
}

TEST_CASE("A plan reads an edge list") {
  const TemporaryFile line("node-0 node-1\nnode-1 node-2  # a path\n");
  const TemporaryFile stranger("node-0 node-1\nnode-1 moon\n");
  const TemporaryFile islands("node-0 node-1\nnode-2 node-3\n");
  const auto with = [](const std::string& path, const std::string& n) {
    return Words{"-n", n, "--topology.kind=file", "--topology.file=" + path, "--json"};
  };
  const auto text = plan(with(line.path(), "3"));
  REQUIRE(text.has_value());
  CHECK(json::parse(*text)["diameter"] == 2);
  CHECK(holds(plan_error(with("/nowhere/edges", "3")), "/nowhere/edges"));
  CHECK(holds(plan_error(with("/", "3")), "cannot be read"));
  CHECK(holds(plan_error(with(stranger.path(), "3")), "\"moon\""));
  CHECK(holds(plan_error(with(islands.path(), "4")), "connected"));
}

// ---- asking a node

TEST_CASE("Commands tell their outcome by the exit code") {
  Board board;
  board.publish(std::make_shared<const Snapshot>(example_snapshot()));
  board.add(example_point(1));
  auto server = HttpServer::start({.host = "127.0.0.1", .port = 0},
                                  make_api(board, [] { return std::string("{}"); }));
  REQUIRE(server.has_value());
  const std::string url = "http://" + to_string((*server)->endpoint());
  for (const char* command : {"status", "members", "neighbors", "topology", "convergence"}) {
    CHECK(run(command, Words{"--api", url}) == 0);
    CHECK(run(command, Words{"--api", url, "--json"}) == 0);
  }
  CHECK(run("topology", Words{"--api", url, "--dot"}) == 0);
  CHECK(run("join", Words{"10.0.0.7:7600", "--api", url}) == 0);
  CHECK(run("leave", Words{"--api", url}) == 0);
  CHECK(run("pause", Words{"--api", url}) == 0);
  CHECK(run("resume", Words{"--api", url}) == 0);
  const auto commands = board.take_commands();
  REQUIRE(commands.size() == 3);
  CHECK(std::holds_alternative<gossip::ResumeCommand>(commands[2]));
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

TEST_CASE("The neighbours for people say whose vectors are not averaged and why") {
  CHECK(holds(*present("neighbors", neighbors_json(example_snapshot())),
              ": not averaged: stale 2\n"));
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

TEST_CASE("A name cannot steer the terminal") {
  CHECK(printable("a\x1b[2Jb\nc\x7f") == "a?[2Jb?c?");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("x\xc2\x9b") == "x??");
  CHECK(printable("gnp\u202eexe.\u200bx") == "gnp???exe.???x");
  CHECK(printable("\xff\xe2\x80x") == "???x");
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
