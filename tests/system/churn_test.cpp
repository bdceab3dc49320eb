// Nodes that stop, die and come back, as real processes; tests/acceptance/churn.py measures more.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "tests/system/harness.h"

using namespace starling;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::eventually;

namespace {

using Cluster = std::vector<std::unique_ptr<testing::Daemon>>;

// A node that keeps what it learns; it joins nobody where `join` is empty.
std::unique_ptr<testing::Daemon> keeper(std::size_t index, const std::string& join) {
  const std::string name = "node-" + std::to_string(index);
  const auto folder =
      std::filesystem::path(testing::temporary_file("churn", "")).parent_path() / ("of-" + name);
  std::vector<std::string> arguments = {"--data.samples=2000", "--model.kind=softmax",
                                        "--topology.kind=ring",
                                        "--node.data-dir=" + folder.string()};
  if (!join.empty()) arguments.push_back("--join=" + join);
  return std::make_unique<testing::Daemon>(name, arguments);
}

json member(const testing::Daemon& seen_by, const std::string& name) {
  const json document = seen_by.get("/v1/members");
  if (document.is_object() && document.contains("members"))
    for (const json& entry : document["members"])
      if (entry["name"] == name) return entry;
  return {{"state", "unknown"}, {"incarnation", 0}};
}

template <class Claim>
bool all_see(const Cluster& cluster, const std::string& name, Claim claim) {
  return eventually([&] {
    return std::ranges::all_of(cluster, [&](auto& node) { return claim(member(*node, name)); });
  });
}

bool all_meet(const Cluster& cluster) {
  return eventually([&] {
    return std::ranges::all_of(
        cluster, [&](auto& node) { return node->members("alive") == cluster.size(); });
  });
}

std::size_t deaths_told(const testing::Daemon& node) {
  const json document = node.get("/v1/events?follow=0");
  REQUIRE(document.is_object());
  return static_cast<std::size_t>(std::ranges::count_if(
      document["events"], [](const json& event) { return event["kind"] == "died"; }));
}

}  // namespace

TEST_CASE("A stopped node is not taken for dead and a killed one comes back by what it kept") {
  Cluster cluster;
  for (std::size_t k = 0; k < 4; ++k)
    cluster.push_back(keeper(k, k == 0 ? "" : to_string(cluster[0]->control())));
  REQUIRE(all_meet(cluster));

  const auto is = [](const std::string& state) {
    return [state](const json& member) { return member["state"] == state; };
  };
  cluster[2]->process().signal(SIGSTOP);
  CHECK(eventually([&] { return is("suspect")(member(*cluster[0], "node-2")); }));
  cluster[2]->process().signal(SIGCONT);
  CHECK(all_see(cluster, "node-2", is("alive")));
  for (const auto& node : cluster) CHECK(deaths_told(*node) == 0);

  const auto incarnation = member(*cluster[0], "node-1")["incarnation"].get<std::uint64_t>();
  cluster[1]->process().signal(SIGKILL);
  cluster.erase(cluster.begin() + 1);
  CHECK(all_see(cluster, "node-1", is("dead")));

  // It is told of nobody, and finds the others all the same.
  cluster.push_back(keeper(1, ""));
  CHECK(all_see(cluster, "node-1", [&](const json& m) {
    return m["state"] == "alive" && m["incarnation"].get<std::uint64_t>() > incarnation;
  }));
  CHECK(all_meet(cluster));
}
