#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/harness.h"

using namespace starling;
using testing::run;
using testing::temporary_file;

namespace {

// Refused before anything starts, in one line that holds `hint`.
void refuses(const std::string& arguments, const std::string& hint, int exit_code = 2) {
  CAPTURE(arguments);
  const testing::Outcome outcome = run(arguments);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.error_lines() == 1);
  CHECK(outcome.err.find(hint) != std::string::npos);
  CHECK(outcome.out.empty());
}

std::string idx(std::uint8_t dimensions, std::uint8_t count, std::size_t values) {
  std::string text{0, 0, 8, static_cast<char>(dimensions), 0, 0, 0, static_cast<char>(count)};
  if (dimensions == 3) text += std::string{0, 0, 0, 2, 0, 0, 0, 2};
  return text + std::string(values, '\1');
}

}  // namespace

TEST_CASE("Wrong settings are refused in one line before anything starts") {
  refuses("run --topology.knid=ring", "topology.kind");
  refuses("up -n 2 --topology.kind=rnig", "ring");
  refuses("simulate --seeds 1..5 --csv rows.csv", "--csv writes one run without faults");
  refuses("run --optim.learning-rate=fast", "number");
  refuses("run --optim.batch-size=-1", "whole number");
  refuses("run -c no-such-file.ini", "no-such-file.ini");
  refuses("run --join nowhere", "HOST:PORT");
  refuses("run --join 127.0.0.1:99999", "65535");
  refuses("up -n 0", "-n 0");
  refuses("up -n 1 --topology.kind=torus", "torus");
  refuses("run --data.source=idx --data.path=no-such-folder", "no-such-folder");
  refuses("run --listen.http=0.0.0.0:0", "http.token-file");
  refuses("fly", "fly");
}

TEST_CASE("All mistakes are reported at once and one a line") {
  const testing::Outcome outcome =
      run("run --optim.momentum=2 --eval.evry=1 --eval.every=0 --data.source=moon");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.error_lines() == 4);
}

TEST_CASE("Broken data files are refused in one line") {
  const std::string ragged = temporary_file("ragged.csv", "a,b,y\n1,2,3\n4,5\n");
  refuses("run --data.source=csv --data.target=y --data.path=" + ragged, "ragged.csv");
  temporary_file("train-images-idx3-ubyte", idx(3, 4, 9));
  temporary_file("train-labels-idx1-ubyte", idx(1, 4, 4));
  temporary_file("t10k-images-idx3-ubyte", idx(3, 4, 16));
  const std::string last = temporary_file("t10k-labels-idx1-ubyte", idx(1, 4, 4));
  const std::string folder = std::filesystem::path(last).parent_path().string();
  refuses("run --data.source=idx --data.path=" + folder, "train-images-idx3-ubyte");
  temporary_file("train-images-idx3-ubyte", idx(3, 4, 16));
  temporary_file("train-labels-idx1-ubyte", idx(1, 4, 0) + "\1\2\17\1");
  refuses("run --data.source=idx --data.path=" + folder, "train-labels-idx1-ubyte");
}

TEST_CASE("Edge lists that do not fit are refused in one line") {
  const std::string stranger = temporary_file("stranger.txt", "node-0 node-1\nnode-1 node-7\n");
  refuses("up -n 2 --topology.kind=file --topology.file=" + stranger, "node-7");
  const std::string apart = temporary_file("apart.txt", "node-0 node-1\nnode-2 node-3\n");
  refuses("up -n 4 --topology.kind=file --topology.file=" + apart, "connected");
}

TEST_CASE("More nodes than reference problems are refused in one line") {
  const std::string reference = " -c " STARLING_ROOT "/configs/reference.ini";
  refuses("simulate -n 32" + reference, "data.reference.n");
  refuses("simulate --chaos -n 20" + reference, "data.reference.n");
  refuses("up -n 17" + reference, "data.reference.n");
  const std::string many = temporary_file("many.txt", "nodes 17\nat 1 s: crash node-1 for 1 s\n");
  refuses("simulate --scenario " + many + reference, "data.reference.n");
}

TEST_CASE("The nodes of a scenario are those of its file") {
  const std::string ten = temporary_file("ten.txt", "nodes 10\nat 1 s: crash node-9 for 1 s\n");
  const std::string simulate =
      "simulate --data.samples=400 --data.partition=dirichlet:1 --model.kind=softmax"
      " --optim.algorithm=dpsgd --sim.healed=10 --sim.distance=1000000 --scenario " +
      ten;
  CHECK(run(simulate).exit_code == 0);
  CHECK(run(simulate + " -n 10").exit_code == 0);
  refuses(simulate + " -n 8", "nodes 10");
}

TEST_CASE("A simulation without a goal ends after a number of rounds that it names") {
  const std::string simulate =
      "simulate -n 2 --data.samples=200 --model.kind=softmax --optim.algorithm=dpsgd";
  const testing::Outcome outcome = run(simulate);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("No goal is given: stop.rounds = 100\n") != std::string::npos);
  const auto limited = nlohmann::json::parse(run(simulate + " --json --sim.seconds=0.2").out);
  CHECK_FALSE(limited["goal"].contains("rounds"));
  CHECK(limited["virtual_s"] == doctest::Approx(0.2));
}

TEST_CASE("Many seeds give a row each and then their mean and deviation") {
  const std::string simulate =
      "simulate -n 2 --data.samples=200 --model.kind=softmax --optim.algorithm=dpsgd"
      " --optim.batch-size=20 --stop.rounds=5";
  const testing::Outcome table = run(simulate + " --seeds 3..5");
  CHECK(table.exit_code == 0);
  for (const char* row : {"\nseed ", "\n3 ", "\n4 ", "\n5 ", "\nmean ", "\ndeviation "})
    CHECK(("\n" + table.out).find(row) != std::string::npos);

  const auto seeds = nlohmann::json::parse(run(simulate + " --seeds 3..5 --json").out);
  REQUIRE(seeds["runs"].size() == 3);
  const auto one = nlohmann::json::parse(run(simulate + " --seed 4 --json").out);
  CHECK(seeds["runs"][1]["seed"] == 4);
  CHECK(seeds["runs"][1]["event_hash"] == one["event_hash"]);
  CHECK(seeds["deviation"]["loss"] > 0);

  // Whose chance in training is fixed differ by nothing on a network without faults.
  const auto same = nlohmann::json::parse(run(simulate + " --node.seed=1 --seeds 3..4 --json").out);
  CHECK(same["deviation"]["loss"] == 0);
  refuses(simulate + " --seeds 1..2 --shrink", "--chaos");
}

TEST_CASE("A run under faults is one JSON document with its verdict") {
  const std::string file = temporary_file("two.txt",
                                          "seed 7\nnodes 2\nchaos 5 s\n"
                                          "at 1 s: crash node-1 for 1 s\n");
  const std::string keys =
      "simulate --json --data.samples=400 --model.kind=softmax --optim.algorithm=dpsgd"
      " --sim.distance=1000000 --sim.trace=1 --scenario " +
      file;
  const testing::Outcome passed = run(keys + " --sim.healed=10 --timeline");
  CHECK(passed.exit_code == 0);
  const auto good = nlohmann::json::parse(passed.out);
  CHECK(good["passed"] == true);
  CHECK(good["seed"] == 7);
  CHECK(good["nodes"].size() == 2);
  CHECK(good["trace"].size() > 10);
  CHECK(good["faults"]["crashed"] == 1);
  CHECK(good["scenario"].back() == "at 1 s: crash node-1 for 1 s");
  CHECK(good["timeline"].size() > 2);
  CHECK_FALSE(good.contains("violations"));

  const testing::Outcome broken =
      run("simulate --json --chaos --seeds 1..2 -n 2 --data.samples=400 --model.kind=softmax"
          " --optim.algorithm=dpsgd --sim.chaos=5 --sim.healed=5 --sim.distance=0 --shrink");
  CHECK(broken.exit_code == 1);
  const auto report = nlohmann::json::parse(broken.out);
  CHECK(report["seeds"] == 2);
  CHECK(report["passed"] == 0);
  CHECK(report["failures"][0]["seed"] == 1);
  CHECK(report["failures"][0]["violations"][0]["law"].is_string());
  CHECK(report["failures"][0]["violations"][0]["node"].is_string());
  CHECK(report["shrunk"]["scenario"][0] == "seed 1");
}

TEST_CASE("A port in use is refused in one line and with a code after which a unit starts again") {
  testing::Daemon first("first", {"--data.samples=200", "--model.kind=softmax"});
  refuses("run --data.samples=200 --listen.http=127.0.0.1:0 --listen.control=" +
              to_string(first.control()),
          "listen.control", 1);
  refuses("run --data.samples=200 --listen.control=127.0.0.1:0 --listen.http=" +
              to_string(first.http()),
          "listen.http", 1);
}

TEST_CASE("Every example configuration loads") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STARLING_ROOT "/configs")) {
    if (entry.path().extension() != ".ini") continue;
    ++files;
    const testing::Outcome outcome = run("config -c " + entry.path().string());
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  CHECK(files >= 6);
}

TEST_CASE("The commands that the README shows run as written") {
  std::ifstream readme(STARLING_ROOT "/README.md");
  std::size_t commands = 0;
  for (std::string line; std::getline(readme, line);) {
    const std::string start = "    starling ";
    const bool ends_by_itself = line.starts_with(start + "plan") ||
                                line.starts_with(start + "simulate") ||
                                line.starts_with(start + "config");
    if (!ends_by_itself) continue;
    CAPTURE(line);
    ++commands;
    CHECK(run(line.substr(start.size())).exit_code == 0);
  }
  CHECK(commands >= 4);
}

TEST_CASE("Every command explains itself") {
  for (const char* command :
       {"run", "up", "status", "members", "neighbors", "topology", "convergence", "plan",
        "simulate", "config", "doctor", "join", "leave"}) {
    CAPTURE(command);
    const testing::Outcome outcome = run(std::string(command) + " --help");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out.find("Usage: starling") != std::string::npos);
  }
  CHECK(run("version").out.starts_with("starling "));
  CHECK(run("status --api http://127.0.0.1:1").exit_code == 4);
}

TEST_CASE("A simulation writes a row for each round of each node") {
  const std::string path = temporary_file("rows.csv", "");
  const testing::Outcome outcome =
      run("simulate -n 3 -c configs/reference.ini --stop.rounds=5 --csv " + path);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 0);
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  CHECK(line ==
        "node,round,time_s,loss,held_out_loss,accuracy,rmse,distance,distance_to_optimum,bytes\r");
  std::map<std::string, int> rows;
  while (std::getline(file, line)) ++rows[line.substr(0, line.find(',', line.find(',') + 1))];
  for (int node = 0; node < 3; ++node)
    for (int round = 1; round <= 5; ++round)
      CHECK(rows[fmt::format("node-{},{}", node, round)] == 1);
}
