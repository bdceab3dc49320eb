#include "daemon/cli/up/fleet.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/cli/up/verdict.h"
#include "daemon/rest/http_server.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

// Two nodes without a node: what they answer comes from servers of this process, and the processes
// that the fleet starts only tell where these listen, and end in order when their program is
// removed.
struct Fixture {
  Fixture() {
    std::string places;
    for (std::size_t k = 0; k < servers.size(); ++k) {
      auto started = HttpServer::start({"127.0.0.1", 0}, [k](const HttpRequest& asked) {
        return asked.target == "/v1/status" ? status(k) : curve(k);
      });
      REQUIRE(started.has_value());
      servers[k] = *std::move(started);
      places +=
          "    --node.name=node-" + std::to_string(k) + ") echo '" +
          json{{"control", "127.0.0.1:1"}, {"http", to_string(servers[k]->endpoint())}}.dump() +
          "' >&3 ;;\n";
    }
    options.nodes = servers.size();
    options.program =
        std::filesystem::temp_directory_path() / ("starling-fleet-" + std::to_string(::getpid()));
    std::ofstream(options.program)
        << "#!/bin/sh\nfor argument; do\n  case $argument in\n"
        << places << "  esac\ndone\nwhile [ -e $0 ]; do sleep .1; done\n";
    std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
  }
  ~Fixture() { std::filesystem::remove(options.program); }

  // A round that all nodes have told of; node k is k + 1 away from the optimum.
  static HttpResponse curve(std::size_t k) {
    const double distance = static_cast<double>(k) + 1;
    return {.body = json{{"series", {{{"round", 7}, {"distance_to_optimum", distance}}}}}.dump()};
  }

  // One that has estimates of before, while it has finished with a loss of k + 1 itself.
  static HttpResponse status(std::size_t k) {
    const double loss = static_cast<double>(k) + 1;
    const json end{
        {"reason", "7 rounds (stop.rounds)"}, {"model", "00000000000000ab"}, {"nodes", 2}};
    const json run{{"loss", loss}, {"eval", {{"accuracy", 0.96 + 0.01 * loss}}}, {"end", end}};
    return {
        .body =
            json{
                {"node", {{"state", "finished"}}},
                {"run", run},
                {"consensus", json::object()},
                {"traffic", json::object()},
                {"summary",
                 "1 of 2 nodes train, 1 has finished, loss 1.8e+02, accuracy 91.1 %, models within "
                 "1 % of their mean"}}
                .dump()};
  }

  std::array<std::unique_ptr<HttpServer>, 2> servers;
  FleetOptions options;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "A node that was slow to answer once is in the curves of the fleet") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->nodes()[1].is_silent = true;
  const auto points = fleet->series();
  REQUIRE(points.size() == 1);
  // The root of the mean of 1 and 4.
  CHECK(points[0].distance_to_optimum.value() == doctest::Approx(1.5811388300841898));
  CHECK_FALSE(fleet->nodes()[1].is_silent);
}

TEST_CASE_FIXTURE(Fixture, "A node whose curve is missing is known") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  servers[0].reset();
  const auto points = fleet->series();
  REQUIRE(points.size() == 1);
  CHECK(points[0].distance_to_optimum == 2.0);
  CHECK(fleet->nodes()[0].is_silent);
}

TEST_CASE_FIXTURE(Fixture, "The sentence of a fleet has what its nodes say of themselves") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->refresh();
  CHECK(fleet->sentence().text ==
        "all 2 nodes have finished, loss 1.5, accuracy 97.5 %, models within 1 % of their mean");
}

TEST_CASE_FIXTURE(Fixture, "A goal is not reached where a node finds its own result at fault") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  const gossip::Goal goal{.rounds = 7};
  fleet->refresh();
  Verdict verdict = judge(*fleet, goal);
  CHECK(verdict.reached);
  CHECK(verdict.text == "7 rounds (stop.rounds)");
  CHECK(verdict.model.hash == 0xab);
  CHECK(verdict.model.nodes == 2);
  fleet->nodes()[1].status["run"]["fault"] = "its trainer ended";
  verdict = judge(*fleet, goal);
  CHECK_FALSE(verdict.reached);
  CHECK(verdict.text == "node-1: its trainer ended");
}

TEST_CASE_FIXTURE(Fixture, "A goal is not reached where the nodes end with different models") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->refresh();
  fleet->nodes()[1].status["run"]["end"]["model"] = "cd";
  fleet->nodes()[1].status["run"]["end"]["nodes"] = 1;
  const Verdict verdict = judge(*fleet, {.rounds = 7});
  CHECK_FALSE(verdict.reached);
  CHECK(verdict.text ==
        "the nodes end with different models: node-1 with 00000000000000cd, of 1 node, others with "
        "00000000000000ab, of 2 nodes");
}

TEST_CASE_FIXTURE(Fixture, "What a fleet does is told by the nodes that run") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->refresh();
  fleet->nodes()[1].process.signal(SIGKILL);
  REQUIRE(fleet->nodes()[1].process.wait(std::chrono::seconds(60)));
  REQUIRE(fleet->present_summaries().size() == 1);
  CHECK(fleet->present_summaries()[0].name == "node-0");
  CHECK(fleet->sentence().text.find("loss 1, ") != std::string::npos);
  CHECK(fleet->node_summaries().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "A run that a person ends may have lost the nodes that left in order") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->refresh();
  std::filesystem::remove(options.program);
  for (Fleet::Node& node : fleet->nodes()) REQUIRE(node.process.wait(std::chrono::seconds(60)));
  fleet->nodes()[1].status["node"]["state"] = "training";
  // What the node wrote at its end is unread.
  CHECK(judge(*fleet, {.rounds = 7}).text.empty());
  fleet->refresh();
  CHECK_FALSE(judge(*fleet, {.rounds = 7}).text.empty());
  CHECK_FALSE(judge(*fleet, {.rounds = 7}).reached);
  fleet->nodes()[0].status["run"]["end"]["reason"] = gossip::kStoppedByHand;
  const Verdict verdict = judge(*fleet, {.rounds = 7});
  CHECK(verdict.reached);
  CHECK(verdict.text == gossip::kStoppedByHand);
}

TEST_CASE_FIXTURE(Fixture, "A fleet is not over while one of its nodes closes the run") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  fleet->refresh();
  fleet->nodes()[1].status["node"]["state"] = "sealing";
  const Verdict verdict = judge(*fleet, {.rounds = 7});
  CHECK_FALSE(verdict.reached);
  CHECK(verdict.text.empty());
}

TEST_CASE_FIXTURE(Fixture, "A fleet is over when no node can train on the data") {
  auto fleet = Fleet::start(options);
  REQUIRE(fleet.has_value());
  const gossip::Goal goal{.rounds = 7};
  const std::string reason = std::string(gossip::kCannotTrain) + "target y has one class";
  const auto say = [&](std::size_t k, const json& reasons) {
    fleet->nodes()[k].status = {{"node", {{"state", "joining"}, {"reasons", reasons}}}};
  };
  say(0, {"security.insecure = true", reason});
  say(1, json::array());
  CHECK(judge(*fleet, goal).text.empty());
  say(1, {reason});
  const Verdict verdict = judge(*fleet, goal);
  CHECK(verdict.is_refused);
  CHECK(verdict.text == reason);
}
