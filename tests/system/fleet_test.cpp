// A whole fleet in real processes that rests: any node knows how all of them are doing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "daemon/process/safetensors.h"
#include "daemon/rest/http_client.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::eventually;
using testing::run;

namespace {

constexpr std::size_t kNodes = 16;

using Fleet = std::vector<std::unique_ptr<testing::Daemon>>;

// Least squares with other data at every node, so that losses and models differ.
Fleet start_fleet() {
  Fleet fleet;
  for (std::size_t k = 0; k < kNodes; ++k) {
    std::vector<std::string> arguments = {
        "--data.source=reference", "--data.reference.n=16",
        "--model.kind=linear",     "--optim.algorithm=dpsgd",
        "--optim.batch-size=0",    "--optim.learning-rate=0.05",
        "--topology.kind=random",  "--topology.degree=4",
        "--eval.every=1000000",    fmt::format("--data.shard={}/16", k),
        "--cluster.expect=16"};
    if (k > 0) arguments.push_back("--join=" + to_string(fleet[0]->control()));
    fleet.push_back(
        std::make_unique<testing::Daemon>("node-" + std::to_string(k), std::move(arguments)));
  }
  return fleet;
}

// All tensors of /v1/model in the order of their names.
std::vector<double> model_of(const testing::Daemon& node) {
  const auto reply =
      daemon::http_request(node.http(), "GET", "/v1/model", "", std::chrono::seconds(30), "");
  REQUIRE(reply.has_value());
  REQUIRE(reply->status == 200);
  const auto file = daemon::read_safetensors(reply->body);
  REQUIRE(file.has_value());
  std::vector<double> model;
  for (const auto& [name, tensor] : file->tensors)
    model.insert(model.end(), tensor.numbers.begin(), tensor.numbers.end());
  return model;
}

double squared_norm(const std::vector<double>& x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

// sqrt(mean_i ||x_i - mean||^2) / ||mean||
double distance_of(const std::vector<std::vector<double>>& models) {
  const auto count = static_cast<double>(models.size());
  std::vector<double> mean(models.front().size());
  for (const auto& model : models)
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += model[k] / count;
  double squares = 0;
  for (std::vector<double> model : models) {
    for (std::size_t k = 0; k < mean.size(); ++k) model[k] -= mean[k];
    squares += squared_norm(model) / count;
  }
  return std::sqrt(squares / squared_norm(mean));
}

bool is_near(double value, double truth, double part) {
  return std::abs(value - truth) <= part * std::abs(truth);
}

}  // namespace

TEST_CASE("Every node of a paused fleet knows the fleet") {
  Fleet fleet = start_fleet();
  const auto all = [&](auto condition) {
    return std::ranges::all_of(fleet, [&](auto& node) { return condition(*node); });
  };
  REQUIRE(eventually([&] { return all([](auto& node) { return node.round() > 30; }); }));
  const testing::Outcome told = run("pause --all --api http://" + to_string(fleet[5]->http()));
  CHECK(told.exit_code == 0);
  const auto is_paused = [](const testing::Daemon& node) {
    const json status = node.get("/v1/status");
    return status.is_object() && status["node"]["state"] == "paused";
  };
  REQUIRE(eventually([&] { return all(is_paused); }));

  std::vector<std::vector<double>> models;
  double loss = 0;
  for (const auto& node : fleet) {
    models.push_back(model_of(*node));
    loss += node->get("/v1/status")["run"]["loss"].get<double>() / kNodes;
  }
  const double distance = distance_of(models);
  CAPTURE(loss);
  CAPTURE(distance);
  CHECK(distance > 0);
  // What is not known yet is null.
  const auto number = [](const json& known, const char* object, const char* name) {
    const json& found = known.at(object);
    return found.is_object() ? found.at(name).get<double>() : std::nan("");
  };
  const auto knows = [&](const testing::Daemon& node) {
    const json known = node.get("/v1/fleet");
    return known.is_object() && known["nodes"] == kNodes && known["paused"] == kNodes &&
           is_near(number(known, "loss", "mean"), loss, 0.01) &&
           is_near(number(known, "consensus_distance", "value"), distance, 0.15);
  };
  for (const auto& node : fleet) {
    CHECK(eventually([&] { return knows(*node); }));
    if (!knows(*node)) MESSAGE(node->name(), " says ", node->get("/v1/fleet").dump());
  }

  CHECK(run("resume --all --api http://" + to_string(fleet[9]->http())).exit_code == 0);
  const std::uint64_t before = fleet[0]->round();
  CHECK(eventually([&] { return all([&](auto& node) { return node.round() > before + 20; }); }));
}
