// Relays in real processes: nodes that nobody can dial meet at one that has no data.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/daemon/trainer_client.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::Daemon, testing::eventually, testing::temporary_file;
using testing::TrainerClient, testing::TrainerPlan;

namespace {

using Arguments = std::vector<std::string>;
constexpr std::size_t kTrainers = 3;

// A relay and nodes that nobody can dial. All get the arguments, the trainers those of their own
// too.
struct Fleet {
  Fleet(const Arguments& all, const std::vector<Arguments>& own) {
    start("relay", all, {"--node.role=relay"});
    for (std::size_t k = 0; k < own.size(); ++k) {
      Arguments more = own[k];
      more.push_back("--listen.advertise=none");
      more.push_back("--join=" + to_string(relay().control()));
      start(fmt::format("node-{}", k), all, more);
    }
  }
  void start(const std::string& name, Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    nodes.push_back(std::make_unique<Daemon>(name, arguments));
  }
  Daemon& relay() { return *nodes.front(); }
  int exit_code(std::size_t node) {
    daemon::ChildProcess& process = nodes[node]->process();
    return process.wait(std::chrono::seconds(120)) ? process.exit_code().value_or(-1) : -1;
  }

  std::vector<std::unique_ptr<Daemon>> nodes;  // the relay first
};

std::string expect(std::size_t trainers) {
  return fmt::format("--cluster.expect={}", trainers);
}

}  // namespace

TEST_CASE("Nodes that nobody can dial train to the goal at a relay and it ends with them") {
  Fleet fleet({"--data.samples=1200", "--data.partition=by-label", "--model.kind=softmax",
               "--optim.algorithm=ed", "--stop.rounds=400", expect(kTrainers)},
              std::vector<Arguments>(kTrainers));
  json members, status, of_trainer;
  CHECK(eventually([&] {
    status = fleet.relay().get("/v1/status");
    members = fleet.relay().get("/v1/members");
    of_trainer = fleet.nodes[1]->get("/v1/status");
    return status.is_object() && status["run"]["round"] > 20 && members.is_object() &&
           members["members"].size() == 1 + kTrainers && of_trainer.is_object() &&
           of_trainer["run"]["shard"]["samples"] == 400;  // a third of the data each
  }));
  CHECK(status["run"]["steps"] == 0);
  CHECK_FALSE(status["run"].contains("loss"));
  CHECK_FALSE(status["run"].contains("eval"));
  CHECK(status["run"]["shard"]["description"] == "none: a relay has no data");
  for (const json& member : members["members"]) {
    const bool is_relay = member["name"] == "relay";
    CHECK(member.value("role", "trainer") == (is_relay ? "relay" : "trainer"));
    CHECK(member.value("hidden", false) == !is_relay);
    if (is_relay) CHECK_FALSE(member.contains("loss"));
  }
  for (std::size_t node = 0; node <= kTrainers; ++node) CHECK(fleet.exit_code(node) == 0);
}

TEST_CASE("Sites that nobody can dial found their model at a relay that has no file") {
  std::vector<Arguments> sites;
  for (const std::string word : {"red", "green", "blue"}) {
    std::string text = "a,w,y\n";
    for (int row = 0; row < 60; ++row)
      text += fmt::format("{},{},{}\n", row, word, row < 30 ? "low" : "high");
    sites.push_back({"--data.path=" + temporary_file(word + ".csv", text)});
  }
  Fleet fleet({"--data.source=csv", "--data.target=y", "--data.shard=all", "--data.weight=samples",
               "--optim.learning-rate=0.3", "--stop.rounds=300", expect(kTrainers)},
              sites);
  CHECK(eventually([&] {
    const json status = fleet.nodes[1]->get("/v1/status");
    return status.is_object() && status["run"]["round"] > 10;
  }));
  const json status = fleet.nodes[1]->get("/v1/status");
  if (status.is_object()) {
    const std::string shard = status["run"]["shard"]["description"];
    CHECK(shard.find("of weight 1") != std::string::npos);  // the relay is none of the founders
  }
  for (std::size_t node = 0; node <= kTrainers; ++node) CHECK(fleet.exit_code(node) == 0);
}

TEST_CASE("Trainers of one's own meet at a relay that has none") {
  // Each node's own loss is half the squared distance from its target.
  constexpr std::array<double, 2> kTargets{1, 3};
  constexpr double kRate = 0.1;
  std::vector<Arguments> own;
  std::vector<std::string> sockets;
  for (std::size_t k = 0; k < kTargets.size(); ++k) {
    const std::filesystem::path beside = temporary_file("sockets", "");
    sockets.push_back(beside.parent_path() / fmt::format("relayed-{}.sock", k));
    own.push_back({"--trainer.socket=" + sockets.back()});
  }
  Fleet fleet({"--model.precision=f64", "--model.kind=external", "--optim.algorithm=gt",
               fmt::format("--optim.learning-rate={}", kRate), "--stop.rounds=300",
               expect(kTargets.size())},
              own);
  std::vector<std::future<double>> ends;
  for (std::size_t k = 0; k < kTargets.size(); ++k)
    ends.push_back(std::async(std::launch::async, [k, path = sockets[k], &kTargets] {
      TrainerPlan plan;
      plan.hello = {{"corrects", true}, {"steps", "sgd"}};
      TrainerClient client(path, plan);
      client.run([&](const json& request) -> json {
        for (std::size_t i = 0; i < client.values().size(); ++i) {
          const double c = request["corrects"].get<bool>() ? client.correction()[i] : 0;
          double& x = client.values()[i];
          client.gradient()[i] = x - kTargets[k] + c;
          x -= kRate * client.gradient()[i];
        }
        return {{"loss", 1.0}, {"samples", 1}};
      });
      return client.values()[0];
    }));
  for (auto& end : ends) CHECK(end.get() == doctest::Approx(2).epsilon(1e-4));
  for (std::size_t node = 0; node <= kTargets.size(); ++node) CHECK(fleet.exit_code(node) == 0);
}

TEST_CASE("A relay alone says that nobody has data") {
  Daemon relay("relay", {"--node.role=relay"});
  const std::string alone =
      "no member has data: all are relays (node.role), which learn nothing; start a node with data";
  CHECK(
      eventually([&] { return relay.get("/v1/status").dump().find(alone) != std::string::npos; }));
  const testing::Outcome doctor =
      testing::run("doctor --json --api http://" + to_string(relay.http()));
  CHECK(doctor.out.find(alone) != std::string::npos);
}
