#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/process/safetensors.h"
#include "daemon/rest/http_client.h"
#include "models/data/load.h"
#include "models/factory.h"
#include "tests/daemon/trainer_client.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::Daemon, testing::eventually;
using testing::TrainerClient, testing::TrainerPlan;

namespace {

// The first number of nodes whose ring does not average exactly: there a correction shows.
constexpr std::size_t kNodes = 4;
constexpr double kRate = 0.2;

// Where nothing is yet.
std::string socket_path(const std::string& name) {
  const std::filesystem::path beside = testing::temporary_file("sockets", "");
  return beside.parent_path() / (name + ".sock");
}

models::DataOptions site_data(std::size_t node) {
  models::DataOptions data;
  data.source = models::Source::digits;
  data.samples = 240;
  data.shard = {.kind = models::ShardChoice::Kind::part, .index = node, .count = kNodes};
  return data;
}

// Loss and gradient of the built-in mlp on a node's own samples, outside the daemon.
class OwnModel {
 public:
  explicit OwnModel(std::size_t node) {
    const models::DataOptions data = site_data(node);
    auto loaded = models::load(data);
    REQUIRE(loaded.has_value());
    models::ModelOptions model;
    model.kind = models::ModelKind::mlp;
    model.hidden = {8};
    auto made = models::make_objective<double>(
        model, data, std::make_shared<const models::Data>(*std::move(loaded)));
    REQUIRE(made.has_value());
    objective_ = *std::move(made);
    objective_->assign({.members = {NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}}, .place = node});
  }
  std::size_t dimension() const { return objective_->dimension(); }
  std::size_t samples() const { return objective_->samples(); }
  void initialize(std::span<double> x) const { objective_->initialize(x, 1); }
  double gradient(std::span<const double> x, std::span<const std::uint32_t> batch,
                  std::span<double> g) {
    return objective_->loss_and_gradient(x, batch, g);
  }

 private:
  std::unique_ptr<optim::Objective<double>> objective_;
};

// Answers until the run ends, by gradients or by steps of plain sgd with the corrections added.
void train(const std::string& socket, std::size_t node, bool serves_gradients) {
  OwnModel model(node);
  TrainerPlan plan{.numbers = model.dimension()};
  plan.hello = {{"samples", model.samples()},
                {"mode", serves_gradients ? "gradients" : "loop"},
                {"shifts", true},
                {"steps", "sgd"}};
  TrainerClient client(socket, plan);
  model.initialize(client.values());
  std::vector<double> g(model.dimension());
  client.run([&](const json& request) -> json {
    double loss = 0;
    if (request["kind"] == "gradient") {
      loss =
          model.gradient(client.values(), client.batch().first(request["batch"].get<std::size_t>()),
                         client.gradient());
      return {{"loss", loss}, {"samples", model.samples()}};
    }
    const std::size_t count = request["count"];
    std::ranges::fill(client.gradient(), 0.0);
    for (std::size_t step = 0; step < count; ++step) {
      loss = model.gradient(client.values(), {}, g);
      for (std::size_t k = 0; k < g.size(); ++k) {
        const double c = request["corrects"].get<bool>() ? client.correction()[k] : 0;
        const double shift = request["shifts"].get<bool>() ? client.correction()[k] : 0;
        client.values()[k] += shift - request["learning_rate"].get<double>() * (g[k] + c);
        client.gradient()[k] += (g[k] + c) / static_cast<double>(count);
      }
    }
    return {{"loss", loss}, {"samples", model.samples()}};
  });
}

struct Course {
  std::vector<double> losses;  // of node 0, by round
  std::vector<double> model;   // of node 0, at the end
};

// Nodes in a ring train to a round and stay.
Course run_nodes(const std::string& algorithm, const std::string& way) {
  const bool is_own = way != "built-in";
  std::vector<std::unique_ptr<Daemon>> nodes;
  std::vector<std::future<void>> trainers;
  for (std::size_t k = 0; k < kNodes; ++k) {
    std::vector<std::string> arguments = {
        "--model.precision=f64",
        "--model.kind=" + std::string(is_own ? "external" : "mlp"),
        "--model.hidden=8",
        "--data.samples=240",
        "--data.shard=" + std::to_string(k) + "/" + std::to_string(kNodes),
        "--optim.algorithm=" + algorithm,
        "--optim.learning-rate=" + std::to_string(kRate),
        "--optim.batch-size=0",
        "--topology.kind=ring",
        "--cluster.preset=wan",
        "--cluster.expect=" + std::to_string(kNodes),
        "--stop.rounds=40",
        "--stop.stay=true"};
    if (k > 0) arguments.push_back("--join=" + to_string(nodes[0]->control()));
    const std::string socket = socket_path(way + algorithm + std::to_string(k));
    if (is_own) arguments.push_back("--trainer.socket=" + socket);
    nodes.push_back(std::make_unique<Daemon>("node-" + std::to_string(k), arguments));
    if (is_own)
      trainers.push_back(std::async(std::launch::async, train, socket, k, way == "gradients"));
  }
  for (const auto& node : nodes)
    REQUIRE(eventually([&] { return node->get("/v1/status")["node"]["state"] == "finished"; }));
  Course course;
  const json convergence = nodes[0]->get("/v1/convergence");
  for (const json& point : convergence["series"]) course.losses.push_back(point.value("loss", 0.0));
  const auto reply =
      daemon::http_request(nodes[0]->http(), "GET", "/v1/model", "", std::chrono::seconds(30));
  REQUIRE(reply.has_value());
  const auto file = daemon::read_safetensors(reply->body);
  REQUIRE(file.has_value());
  nodes.clear();
  for (auto& trainer : trainers) trainer.get();
  // The built-in model has a tensor a layer, in the order of their names; x is all of them.
  for (const auto& [name, tensor] : file->tensors)
    course.model.insert(course.model.end(), tensor.numbers.begin(), tensor.numbers.end());
  std::ranges::sort(course.model);
  return course;
}

}  // namespace

TEST_CASE("A trainer of one's own walks where the built-in model walks") {
  for (const std::string algorithm : {"dpsgd", "ed", "gt"}) {
    CAPTURE(algorithm);
    const Course built_in = run_nodes(algorithm, "built-in");
    REQUIRE(built_in.losses.size() > 30);
    for (const std::string way : {"gradients", "loop"}) {
      CAPTURE(way);
      const Course own = run_nodes(algorithm, way);
      REQUIRE(own.model.size() == built_in.model.size());
      for (std::size_t k = 0; k < own.model.size(); ++k)
        CHECK(own.model[k] == doctest::Approx(built_in.model[k]).epsilon(1e-10));
      for (std::size_t k = 1; k < own.losses.size() && k < built_in.losses.size(); ++k)
        CHECK(own.losses[k] == doctest::Approx(built_in.losses[k]).epsilon(1e-10));
    }
  }
}

TEST_CASE("A correction fits a trainer whose learning rate is not that of the run") {
  // Each node's own loss is a / 2 (x - t)^2; the sum is least at (a_0 t_0 + a_1 t_1) / (a_0 + a_1).
  constexpr std::array<double, 2> kTargets{1, 3}, kCurvatures{1, 3};
  constexpr double kOwnRate = 0.1;
  std::vector<std::unique_ptr<Daemon>> nodes;
  std::vector<std::future<double>> ends;
  for (std::size_t k = 0; k < kTargets.size(); ++k) {
    const std::string socket = socket_path("rate-" + std::to_string(k));
    std::vector<std::string> arguments = {
        "--model.precision=f64",  "--model.kind=external",   "--optim.algorithm=ed",
        "--optim.local-steps=5",  "--optim.learning-rate=8", "--cluster.expect=2",
        "--cluster.preset=local", "--stop.rounds=200",       "--trainer.socket=" + socket};
    if (k > 0) arguments.push_back("--join=" + to_string(nodes[0]->control()));
    nodes.push_back(std::make_unique<Daemon>("node-" + std::to_string(k), arguments));
    ends.push_back(std::async(std::launch::async, [=] {
      TrainerPlan plan;
      plan.hello = {{"shifts", true}, {"steps", "sgd"}, {"learning_rate", kOwnRate}};
      TrainerClient client(socket, plan);
      client.run([&](const json& request) -> json {
        for (int step = 0; step < request["count"]; ++step)
          for (std::size_t i = 0; i < client.values().size(); ++i) {
            const double c = request["shifts"].get<bool>() ? client.correction()[i] : 0;
            double& x = client.values()[i];
            x += c - kOwnRate * kCurvatures[k] * (x - kTargets[k]);
          }
        return {{"loss", 1.0}, {"learning_rate", kOwnRate}};
      });
      return client.values()[0];
    }));
  }
  for (auto& end : ends) CHECK(end.get() == doctest::Approx(2.5).epsilon(1e-9));
}

TEST_CASE("Trainers that begin with different parameters all begin with those of one") {
  constexpr std::array<double, 3> kBegins{1, 2, 3};
  std::vector<std::unique_ptr<Daemon>> nodes;
  std::vector<std::future<double>> seen;
  for (std::size_t k = 0; k < kBegins.size(); ++k) {
    const std::string socket = socket_path("begin-" + std::to_string(k));
    std::vector<std::string> arguments = {"--model.precision=f64",   "--model.kind=external",
                                          "--optim.algorithm=dpsgd", "--cluster.expect=3",
                                          "--stop.rounds=3",         "--trainer.socket=" + socket};
    if (k > 0) arguments.push_back("--join=" + to_string(nodes[0]->control()));
    nodes.push_back(std::make_unique<Daemon>("node-" + std::to_string(k), arguments));
    seen.push_back(std::async(std::launch::async, [socket, begin = kBegins[k]] {
      TrainerClient client(socket, {});
      std::ranges::fill(client.values(), begin);
      std::optional<double> first;
      client.run([&](const json&) -> json {
        if (!first) first = client.values()[0];
        return {{"loss", 1.0}};
      });
      return first.value_or(0);
    }));
  }
  std::vector<double> first;
  for (auto& value : seen) first.push_back(value.get());
  CHECK(std::ranges::count(kBegins, first[0]) == 1);
  CHECK(std::ranges::count(first, first[0]) == 3);
}

// ---- what a trainer does to its node by going

namespace {

constexpr double kGarbage = 1e30;

// A node that trains with a partner until it is told to stop; both by trainers of the test.
struct Pair {
  Pair() {
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<std::string> arguments = {"--model.precision=f64", "--model.kind=external",
                                            "--optim.algorithm=dpsgd", "--cluster.expect=2",
                                            "--trainer.socket=" + socket(k)};
      if (k > 0) arguments.push_back("--join=" + to_string(nodes[0]->control()));
      nodes.push_back(std::make_unique<Daemon>("node-" + std::to_string(k), arguments));
    }
    partner = std::async(std::launch::async, [path = socket(1)] { steps_towards(path, 2); });
  }
  ~Pair() { nodes.clear(); }

  std::string socket(std::size_t k) const { return socket_path("pair-" + std::to_string(k)); }
  // Half of the way to `goal` in each round, until the run ends.
  static void steps_towards(const std::string& path, double goal) {
    TrainerClient client(path, {});
    client.run([&](const json&) -> json {
      for (double& x : client.values()) x += (goal - x) / 2;
      return {{"loss", 1.0}};
    });
  }
  bool goes_on(std::size_t k) {
    const std::uint64_t round = nodes[k]->round();
    return eventually([&] { return nodes[k]->round() > round + 20; });
  }
  // Of the trainer of node 0; empty when the node does not answer.
  std::string state() {
    json status = nodes[0]->get("/v1/status");
    const json& trainer = status["trainer"];
    return trainer.is_object() ? trainer.value("state", "") : "";
  }

  std::vector<std::unique_ptr<Daemon>> nodes;
  std::future<void> partner;
};

// Takes some rounds, and goes in the middle of one behind spoilt numbers.
std::vector<double> crash(const std::string& path, std::uint64_t rounds) {
  TrainerClient client(path, {});
  client.say_hello();
  CHECK(client.receive()["kind"] == "welcome");
  std::vector<double> first;
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    const json request = client.receive();
    CHECK(request["kind"] == "step");
    if (first.empty()) first.assign(client.values().begin(), client.values().end());
    for (double& x : client.values()) x = round < rounds ? x + (1 - x) / 2 : kGarbage;
    if (round < rounds) client.send({{"kind", "done"}, {"job", request["job"]}, {"loss", 1.0}});
  }
  return first;
}

}  // namespace

TEST_CASE("A trainer that crashes leaves its node whole and its neighbour at work") {
  Pair pair;
  crash(pair.socket(0), 30);
  CHECK(eventually([&] { return pair.state() == "lost"; }));
  CHECK(eventually([&] { return pair.nodes[0]->get("/v1/status")["node"]["state"] == "paused"; }));
  CHECK(pair.goes_on(1));
  for (int attempt = 0; attempt < 5; ++attempt)
    for (const double x : crash(pair.socket(0), 3)) CHECK(std::abs(x) < 10);
  auto last = std::async(std::launch::async, [&] { Pair::steps_towards(pair.socket(0), 1); });
  CHECK(eventually([&] { return pair.state() == "training" || pair.state() == "exchanging"; }));
  CHECK(pair.goes_on(0));
  pair.nodes.clear();
  last.get();
}

TEST_CASE("A pause by a person outlasts the trainer") {
  Pair pair;
  crash(pair.socket(0), 10);
  const auto post = [&](const char* path) {
    return daemon::http_request(pair.nodes[0]->http(), "POST", path, "", std::chrono::seconds(30))
        .has_value();
  };
  const auto is_in = [&](const char* state) {
    return eventually([&] { return pair.nodes[0]->get("/v1/status")["node"]["state"] == state; });
  };
  CHECK(is_in("paused"));
  CHECK(post("/v1/pause"));
  auto last = std::async(std::launch::async, [&] { Pair::steps_towards(pair.socket(0), 1); });
  CHECK(eventually([&] { return pair.state() == "exchanging"; }));
  // A round of the partner is time enough to begin one.
  CHECK(pair.goes_on(1));
  CHECK(is_in("paused"));
  CHECK(post("/v1/resume"));
  CHECK(pair.goes_on(0));
  pair.nodes.clear();
  last.get();
}

TEST_CASE("Parameters that are not finite are not taken") {
  Pair pair;
  auto spoilt = std::async(std::launch::async, [&] {
    TrainerClient client(pair.socket(0), {});
    client.run([&](const json& request) -> json {
      const bool is_broken = request["job"].get<std::uint64_t>() % 2 == 0;
      for (double& x : client.values()) x = is_broken ? std::nan("") : x + (1 - x) / 2;
      return {{"loss", 1.0}};
    });
  });
  CHECK(pair.goes_on(0));
  const json status = pair.nodes[0]->get("/v1/status");
  CHECK(status["run"].value("problem", "").find("not finite") != std::string::npos);
  const auto reply =
      daemon::http_request(pair.nodes[0]->http(), "GET", "/v1/model", "", std::chrono::seconds(30));
  REQUIRE(reply.has_value());
  const auto file = daemon::read_safetensors(reply->body);
  REQUIRE(file.has_value());
  for (const double x : file->tensors.at("x").numbers) CHECK(std::abs(x) < 10);
  pair.nodes.clear();
  spoilt.get();
}
