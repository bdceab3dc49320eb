// Real processes that save, end and go on.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::eventually;
using testing::run;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / fmt::format("starling-resume-{}", ::getpid())) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string node(std::size_t k) const { return (path / fmt::format("node-{}", k)).string(); }

  fs::path path;
};

std::vector<fs::path> generations(const fs::path& node) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(node / "checkpoints"))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The numbers of the newest model, without the head, which names the round.
std::string model(const fs::path& node) {
  const std::string file = text_of(generations(node).back() / "model.safetensors");
  std::uint64_t length = 0;
  file.copy(reinterpret_cast<char*>(&length), sizeof(length));
  return file.substr(sizeof(length) + length);
}

const std::string kLearning =
    "--data.source=reference --data.reference.n=3 --model.kind=linear --topology.kind=complete "
    "--optim.batch-size=4 --optim.learning-rate=0.02 --listen.http=127.0.0.1:0";

}  // namespace

TEST_CASE("Processes that stop and go on end with one model") {
  for (const char* algorithm : {"dpsgd", "ed"}) {
    CAPTURE(algorithm);
    Folder whole;
    const std::string arguments =
        fmt::format("up -n 3 --optim.algorithm={} {} --output=/dev/null", algorithm, kLearning);
    const auto trained =
        run(fmt::format("{} --stop.rounds=40 --node.data-dir={}", arguments, whole.path.string()));
    REQUIRE(trained.exit_code == 0);
    for (std::size_t k = 1; k < 3; ++k) CHECK(model(whole.node(k)) == model(whole.node(0)));
    fs::remove_all(whole.path);
    Folder& cut = whole;
    REQUIRE(run(fmt::format("{} --stop.rounds=15 --node.data-dir={}", arguments, cut.path.string()))
                .exit_code == 0);
    const std::string early = model(cut.node(0));
    const auto resumed =
        run(fmt::format("up --resume={} --stop.rounds=40 --output=/dev/null", cut.path.string()));
    CAPTURE(resumed.err);
    REQUIRE(resumed.exit_code == 0);
    CHECK(resumed.out.find("40 rounds (stop.rounds)") != std::string::npos);
    CHECK(resumed.out.find(" of 3 nodes.\n") != std::string::npos);
    CHECK(model(cut.node(0)) != early);
    for (std::size_t k = 1; k < 3; ++k) CHECK(model(cut.node(k)) == model(cut.node(0)));
  }
}

TEST_CASE("A node that is killed goes on from its newest checkpoint that is whole") {
  Folder folder;
  const std::vector<std::string> arguments = {
      "--data.source=reference", "--model.kind=linear", "--node.data-dir=" + folder.path.string(),
      "--checkpoint.every=10 rounds", "--optim.learning-rate=0.001"};
  {
    testing::Daemon node("node-0", arguments);
    REQUIRE(eventually([&] { return generations(folder.path).size() == 3; }));
    ::kill(node.process().pid(), SIGKILL);
  }
  const auto left = generations(folder.path);
  const auto about = [](const fs::path& generation) {
    const std::string text = text_of(generation / "manifest.json");
    const json manifest = json::parse(text.substr(0, text.find('\n')));
    return std::stoull(manifest["about"]["round"].get<std::string>());
  };
  const std::uint64_t before = about(*(left.end() - 2));
  std::ofstream(left.back() / "state.safetensors", std::ios::app) << "x";
  testing::Daemon again("node-0", arguments);
  json status;
  REQUIRE(eventually([&] {
    status = again.get("/v1/status");
    return status.contains("run") && status["run"]["round"].get<std::uint64_t>() >= before;
  }));
  const json events = again.get("/v1/events?follow=0");
  CHECK(events.dump().find(fmt::format("training from round {}", before)) != std::string::npos);
  CHECK(again.post("/v1/checkpoint", "") == 202);
  CHECK(again.post("/v1/checkpoint", R"({"fleet": 1})") == 400);
  const auto saved =
      run(fmt::format("checkpoint --wait --json --api http://{}", to_string(again.http())));
  CAPTURE(saved.err);
  CHECK(saved.exit_code == 0);
  CHECK(json::parse(saved.out)["generation"].get<std::uint64_t>() > left.size());
  const auto all =
      run(fmt::format("checkpoint --fleet --wait --api http://{}", to_string(again.http())));
  CHECK(all.exit_code == 0);
  CHECK(all.out.starts_with("every node has saved round "));
}

TEST_CASE("Epsilon goes on where a killed node was and ends the training at its budget") {
  Folder folder;
  std::vector<std::string> arguments = {
      "--data.samples=100",   "--model.kind=softmax",
      "--optim.clip=1",       "--optim.noise=20",
      "--stop.stay=true",     "--node.data-dir=" + folder.path.string(),
      "--optim.batch-size=4", "--checkpoint.every=10 rounds"};
  const auto privacy_of = [](const testing::Daemon& node) {
    const json status = node.get("/v1/status");
    return status.contains("run") ? status["run"].value("privacy", json()) : json();
  };
  {
    testing::Daemon node("node-0", arguments);
    REQUIRE(eventually([&] { return generations(folder.path).size() == 3; }));
    ::kill(node.process().pid(), SIGKILL);
  }
  const std::string text = text_of(generations(folder.path).back() / "manifest.json");
  const json manifest = json::parse(text.substr(0, text.find('\n')));
  const auto rounds = std::stoull(manifest["about"]["round"].get<std::string>());
  json spent;
  {
    testing::Daemon again("node-0", arguments);
    REQUIRE(eventually([&] { return !(spent = privacy_of(again)).is_null(); }));
    CHECK(spent["steps"].get<std::uint64_t>() + 1 >= rounds);
    CHECK(spent["epsilon"].get<double>() > 0);
    ::kill(again.process().pid(), SIGTERM);
  }
  const double budget = spent["epsilon"].get<double>() + 0.2;
  arguments.push_back(fmt::format("--stop.epsilon={}", budget));
  testing::Daemon last("node-0", arguments);
  json status;
  REQUIRE(eventually([&] {
    status = last.get("/v1/status");
    return status.contains("node") && status["node"]["state"] == "finished";
  }));
  CAPTURE(status.dump());
  CHECK(status["run"]["privacy"]["steps"] >= spent["steps"]);
}

TEST_CASE("What cannot be saved or gone on from is said with the way out") {
  Folder folder;
  {
    testing::Daemon node("node-0", {"--data.source=reference", "--model.kind=linear"});
    const auto refused = run(fmt::format("checkpoint --api http://{}", to_string(node.http())));
    CHECK(refused.exit_code == 1);
    CHECK(refused.err.find("node.data-dir names no folder") != std::string::npos);
    const auto as_json =
        run(fmt::format("checkpoint --json --api http://{}", to_string(node.http())));
    CHECK(as_json.exit_code == 1);
    CHECK(as_json.out.find("node.data-dir names no folder") != std::string::npos);
  }
  CHECK(run("checkpoint --timeout=0").exit_code == 2);
  CHECK(run("checkpoint now").exit_code == 2);
  CHECK(run("checkpoint --api http://127.0.0.1:1").exit_code == 4);
  const auto nothing = run("up --resume=" + folder.path.string());
  CHECK(nothing.exit_code == 2);
  CHECK(nothing.err.find("holds no readable fleet.json") != std::string::npos);
  const auto mistaken = run("run --checkpoint.every=often");
  CHECK(mistaken.exit_code == 2);
  CHECK(mistaken.err.find("500 rounds") != std::string::npos);
}

TEST_CASE("A node that ends with nothing on its disk fails and says what is missing") {
  const Folder folder;
  testing::Daemon node("node-0", {"--data.source=reference", "--model.kind=linear",
                                  "--node.data-dir=" + folder.node(0)});
  fs::remove_all(fs::path(folder.node(0)) / "checkpoints");
  std::ofstream(fs::path(folder.node(0)) / "checkpoints") << "of a person";
  CHECK(eventually([&] { return node.round() > 3; }));
  node.process().signal(SIGTERM);
  CHECK(node.process().wait(std::chrono::seconds(60)));
  CHECK(node.process().exit_code() == 1);
  CHECK(text_of(node.process().log_path()).find("nothing of this run is kept there: cannot make") !=
        std::string::npos);
}

TEST_CASE("A node that comes back alone to a run that has ended says so and ends") {
  const Folder folder;
  const std::string goal = "--stop.rounds=15 " + kLearning;
  REQUIRE(run(fmt::format("up -n 3 --output=/dev/null --node.data-dir={} {}", folder.path.string(),
                          goal))
              .exit_code == 0);
  const auto again = run(
      fmt::format("run --node.name=node-0 --node.data-dir={} --data.shard=0/3 --cluster.expect=3 "
                  "--listen.control=127.0.0.1:0 {}",
                  folder.node(0), goal));
  CAPTURE(again.err);
  CHECK(again.exit_code == 0);
  CHECK(again.err.find("this run has ended before, after round 15 with the model ") !=
        std::string::npos);
}
