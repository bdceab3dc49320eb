#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>

#include "base/ids.h"
#include "base/prng.h"
#include "daemon/process/zmq_transport.h"
#include "tests/lengths.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::eventually;
using testing::run;

namespace {

const std::vector<std::string> kSmall = {"--data.samples=2000", "--model.kind=softmax",
                                         "--topology.kind=ring"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::string& more) {
  arguments.push_back(more);
  return arguments;
}

double error_at(const json& summary, std::uint64_t round) {
  for (const json& point : summary.at("series"))
    if (point.at("round") == round) return point.at("distance_to_optimum").get<double>();
  return -1;
}

using Cluster = std::vector<std::unique_ptr<testing::Daemon>>;

Cluster start(std::size_t nodes) {
  Cluster cluster;
  for (std::size_t k = 0; k < nodes; ++k) {
    auto arguments = with(kSmall, "--cluster.expect=" + std::to_string(nodes));
    if (k > 0) arguments.push_back("--join=" + to_string(cluster[0]->control()));
    cluster.push_back(std::make_unique<testing::Daemon>("node-" + std::to_string(k), arguments));
  }
  return cluster;
}

template <class Condition>
bool all(Cluster& cluster, Condition condition) {
  return std::ranges::all_of(cluster, [&](auto& node) { return condition(*node); });
}

bool go_on(Cluster& cluster) {
  const std::uint64_t now = cluster[0]->round();
  return eventually(
      [&] { return all(cluster, [&](auto& node) { return node.round() > now + 20; }); });
}

}  // namespace

TEST_CASE("The trace of a pipelined run shows computing while vectors are sent") {
  const std::vector<std::string> arguments = {"--optim.algorithm=dpsgd-pipelined",
                                              "--model.kind=mlp",
                                              "--model.hidden=128",
                                              "--data.samples=2000",
                                              "--optim.batch-size=256",
                                              "--topology.kind=ring",
                                              "--cluster.expect=2"};
  testing::Daemon first("node-1", arguments);
  testing::Daemon second("node-2", with(arguments, "--join=" + to_string(first.control())));
  REQUIRE(eventually([&] { return second.round() > 20; }));
  const json trace = first.get("/v1/trace");
  REQUIRE(trace.is_object());
  struct Stretch {
    double from, to;
    std::uint64_t round;
  };
  std::map<std::string, std::vector<Stretch>> spans;
  std::map<int, double> ends;  // of the last span of each track
  int open = 0;
  for (const json& event : trace["traceEvents"]) {
    open += (event["ph"] == "b") - (event["ph"] == "e");
    if (event["ph"] != "X") continue;
    const double from = event["ts"], to = from + event["dur"].get<double>();
    // A microsecond is what rounding the times since 1970 may take.
    CHECK(from >= ends[event["tid"]] - 1);
    ends[event["tid"]] = to;
    spans[event["name"]].push_back({from, to, event["args"]["round"]});
  }
  CHECK(open == 0);
  for (const char* name : {"mix", "compute", "encode", "send", "wait"}) {
    CAPTURE(name);
    CHECK(spans[name].size() > 0);
  }
  // The vector of a round leaves before the round's steps are done. In a round that does not
  // overlap the steps come first.
  const auto while_computing = std::ranges::count_if(spans["send"], [&](const Stretch& send) {
    return std::ranges::any_of(spans["compute"], [&](const Stretch& step) {
      return step.round == send.round && send.from < step.to;
    });
  });
  CHECK(while_computing > 0);
}

TEST_CASE("One node alone trains and so do two") {
  for (const char* nodes : {"1", "2"}) {
    const testing::Outcome outcome =
        run(std::string("up --json --data.samples=400 --stop.rounds=40 --listen.http=127.0.0.1:0 "
                        "--model.kind=softmax -n ") +
            nodes);
    CAPTURE(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const json summary = json::parse(outcome.out);
    CHECK(summary["nodes"].size() == static_cast<std::size_t>(std::atoi(nodes)));
    for (const json& node : summary["nodes"]) CHECK(node["round"] == 40);
  }
}

TEST_CASE("A first address that somebody else has is no reason not to start") {
  // A listener that speaks no HTTP: asking it would not tell that the port is taken.
  const auto somebody = daemon::ZmqTransport::bind({.self = NodeId{1}, .listen = {"127.0.0.1", 0}});
  REQUIRE(somebody.has_value());
  const testing::Outcome outcome =
      run("up -n 2 --json --data.samples=400 --stop.rounds=5 --model.kind=softmax --listen.http=" +
          to_string((*somebody)->endpoint()));
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("Processes and the simulator walk to the same place on the reference problem") {
  // With the patience of a wide network no process is done without for the machine's load.
  const int rounds = test::full_or(1000, 200);
  const std::string arguments = fmt::format(
      " -n 16 -c configs/reference.ini --stop.rounds={} --listen.http=127.0.0.1:0 --json "
      "--cluster.preset=wan",
      rounds);
  const testing::Outcome real = run("up" + arguments);
  CAPTURE(real.err);
  REQUIRE(real.exit_code == 0);
  const testing::Outcome simulated = run("simulate" + arguments);
  REQUIRE(simulated.exit_code == 0);
  const double real_error = error_at(json::parse(real.out), rounds);
  const double simulated_error = error_at(json::parse(simulated.out), rounds);
  CHECK(real_error == doctest::Approx(simulated_error).epsilon(1e-6));
  if (!test::tries_full()) return;
  // Fixed point of D-PSGD on the ring, gamma = 0.1 (docs/algorithms.md).
  CHECK(real_error == doctest::Approx(0.44347281).epsilon(1e-4));
  CHECK(simulated_error == doctest::Approx(0.4434728101).epsilon(1e-8));
}

TEST_CASE("Exact algorithms are exact in real processes") {
  for (const std::string& algorithm :
       test::all_or_first<std::string>(1, {"ed", "gt", "admm --optim.admm-penalty=0.5"})) {
    CAPTURE(algorithm);
    const testing::Outcome real =
        run("up -n 8 -c configs/reference.ini --stop.rounds=1500 --listen.http=127.0.0.1:0 --json"
            " --data.reference.n=8 --optim.algorithm=" +
            algorithm);
    CAPTURE(real.err);
    REQUIRE(real.exit_code == 0);
    CHECK(error_at(json::parse(real.out), 1500) < 1e-8);
  }
}

TEST_CASE("A ninth node joins eight that train and one that is killed is missed by nobody") {
  Cluster cluster = start(8);
  REQUIRE(eventually([&] { return all(cluster, [](auto& n) { return n.round() > 50; }); }));

  auto ninth = std::make_unique<testing::Daemon>(
      "node-8", with(kSmall, "--join=" + to_string(cluster[3]->control())));
  cluster.push_back(std::move(ninth));
  CHECK(eventually([&] { return all(cluster, [](auto& n) { return n.members("alive") == 9; }); }));
  // It has started from a neighbour's model, not from its own: it has no early rounds.
  json series;
  CHECK(eventually([&] {
    series = cluster[8]->get("/v1/convergence").value("series", json::array());
    return !series.empty();
  }));
  CHECK(series.at(0)["round"].get<std::uint64_t>() > 1);
  CHECK(go_on(cluster));

  cluster[2]->process().signal(SIGKILL);
  cluster.erase(cluster.begin() + 2);
  CHECK(eventually([&] { return all(cluster, [](auto& n) { return n.members("dead") == 1; }); }));
  CHECK(go_on(cluster));

  cluster[5]->process().signal(SIGTERM);
  REQUIRE(cluster[5]->process().wait(std::chrono::seconds(20)));
  CHECK(cluster[5]->process().exit_code() == 0);
  cluster.erase(cluster.begin() + 5);
  CHECK(eventually([&] { return all(cluster, [](auto& n) { return n.members("left") == 1; }); }));
  CHECK(go_on(cluster));
}

TEST_CASE("A seed that is down is no error and a join by command works later") {
  testing::Daemon alone("alone",
                        with(with(kSmall, "--join=127.0.0.1:1"), "--exchange.alone=train"));
  CHECK(eventually([&] { return alone.round() > 20; }));
  testing::Daemon other("other", kSmall);
  CHECK(eventually([&] { return other.round() > 5; }));
  CHECK(alone.post("/v1/join", json{{"address", to_string(other.control())}}.dump()) == 202);
  CHECK(eventually([&] { return alone.members("alive") == 2 && other.members("alive") == 2; }));
  CHECK(alone.post("/v1/leave", "") == 202);
  CHECK(alone.process().wait(std::chrono::seconds(20)));
  CHECK(eventually([&] { return other.members("left") == 1; }));
}

TEST_CASE("Garbage on every port is refused and counted while training goes on") {
  testing::Daemon node("victim", kSmall);
  auto attacker = daemon::ZmqTransport::bind({.self = NodeId{1}, .listen = {"127.0.0.1", 0}});
  REQUIRE(attacker.has_value());
  Prng prng(20261121);
  MESSAGE("seed 20261121");
  const auto garbage = [&prng](std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(prng.below(256));
    return text;
  };
  const auto nobody = [](const gossip::Received&) {};
  const auto rejected = [&] {
    std::uint64_t sum = 0;
    const json status = node.get("/v1/status");
    if (status.is_object() && status.contains("rejected"))
      for (const auto& [reason, count] : status["rejected"].items())
        sum += count.get<std::uint64_t>();
    return sum;
  };
  const auto attack = [&] {
    for (int i = 0; i < 50; ++i) {
      const std::string bytes = garbage(1 + prng.below(2000));
      const Payload body =
          prng.chance(0.5) ? Payload::copy_of(std::as_bytes(std::span(bytes))) : Payload();
      (*attacker)->send(gossip::Transport::Address{node.control()}, gossip::Plane::control,
                        gossip::Frames(gossip::Frame{garbage(100), body}));
      (*attacker)->send(gossip::Transport::Address{node.control()}, gossip::Plane::bulk,
                        gossip::Frames(gossip::Frame{garbage(100), body}));
      (*attacker)->poll(std::chrono::milliseconds(1), {}, nobody);
    }
    return rejected() > 100;
  };
  CHECK(eventually(attack));
  const std::uint64_t round = node.round();
  CHECK(eventually([&] { return node.round() > round + 20; }));
}
