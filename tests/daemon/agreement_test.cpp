// Two nodes that differ in an agreed key: every such key of the program, by name, at both ends.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/model_file.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "gossip/members/terms.h"
#include "tests/gossip/few_nodes.h"

using namespace starling;
using namespace starling::test;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// Another value than the default, and what both nodes need beside so that it is legal.
struct Other {
  std::string value;
  Keys both = {};
};

std::string file(const std::string& name, const std::string& text) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("agreement-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

std::string model_file(const std::string& name, double parameter) {
  models::ModelCard card{.kind = models::ModelKind::linear, .shape = {}, .table = {}};
  card.shape = models::dense_network({1, 1});
  card.source = models::Source::houses;
  const double parameters[] = {parameter, 0};
  return file(name, daemon::write_model(card, parameters, models::Precision::f64, {}));
}

std::string schema_file(const std::string& name, const std::string& kind) {
  return file(name, "[table]\ntarget = y\n[y]\nkind = number\n[x]\nkind = " + kind + "\n");
}

// A key that becomes agreed belongs here: the test of the table says so.
std::map<std::string, Other> others() {
  const Keys csv = {{"data.source", "csv"}, {"data.path", "x.csv"}, {"data.target", "y"}};
  // What follows from a cut by columns, set by hand.
  const Keys columns = {csv[0],
                        csv[1],
                        csv[2],
                        {"data.key", "id"},
                        {"data.shard", "all"},
                        {"model.precision", "f64"},
                        {"optim.algorithm", "admm"},
                        {"optim.admm-relaxation", "0.8"}};
  const std::string star = file("star", "node-1 node-2\nnode-1 node-3\n");
  const std::string path = file("path", "node-1 node-2\nnode-2 node-3\n");
  return {
      {"exchange.schedule", {"async"}},
      {"exchange.quorum", {"0.5"}},
      {"exchange.staleness", {"5"}},
      {"exchange.missing", {"reuse"}},
      {"stop.rounds", {"9"}},
      {"stop.seconds", {"9"}},
      {"stop.samples", {"9"}},
      {"stop.loss", {"0.5"}},
      {"stop.accuracy", {"0.5"}},
      {"stop.of", {"worst"}},
      {"stop.patience", {"9"}},
      {"stop.keep", {"best"}},
      {"stop.epsilon", {"9", {{"optim.clip", "1"}, {"optim.noise", "2"}}}},
      {"exchange.codec", {"f64"}},
      {"exchange.aggregation", {"clip"}},
      {"exchange.liars", {"2"}},
      {"exchange.masks", {"true", {{"exchange.schedule", "allreduce"}}}},
      {"exchange.parts", {"4", {{"optim.algorithm", "ed"}}}},
      {"exchange.overlap", {"true", {{"optim.algorithm", "ed"}, {"exchange.parts", "2"}}}},
      {"topology.kind", {"torus"}},
      {"topology.degree", {"6"}},
      {"topology.probability", {"0.25"}},
      {"topology.file", {star, {{"topology.kind", "file"}, {"topology.file", path}}}},
      {"topology.seed", {"2"}},
      {"topology.sequence", {"base:2"}},
      {"model.kind", {"softmax"}},
      {"model.hidden", {"32,16"}},
      {"model.layers", {"conv:8:5,pool:2,dense:32"}},
      {"model.l2", {"0.01"}},
      {"model.class-weight", {"balanced"}},
      {"model.precision", {"f64", {{"exchange.codec", "f32"}}}},
      {"model.from", {model_file("b", 2), {{"model.from", model_file("a", 1)}}}},
      {"data.source", {"houses", {{"model.kind", "linear"}}}},
      {"data.target", {"z", csv}},
      {"data.split", {"columns", columns}},
      {"data.key", {"name", columns}},
      {"data.task", {"regression", {{"model.kind", "linear"}}}},
      {"data.target-scale", {"log", csv}},
      {"data.missing", {"drop"}},
      {"data.words", {"hash:8"}},
      {"data.words-case", {"fold"}},
      {"data.schema",
       {schema_file("schema-b", "words"),
        {{"data.path", "x.csv"}, {"data.schema", schema_file("schema-a", "number")}}}},
      {"data.weight", {"samples"}},
      {"data.partition", {"dirichlet:0.5", {{"optim.algorithm", "ed"}}}},
      {"data.shard", {"0/2", {{"optim.algorithm", "ed"}}}},
      {"data.reference.n", {"8"}},
      {"data.reference.d", {"5"}},
      {"data.reference.m", {"10"}},
      {"data.reference.h", {"2"}},
      {"data.reference.noise", {"0.2"}},
      {"data.reference.seed", {"1001"}},
      {"data.samples", {"2000"}},
      {"data.holdout", {"0.1"}},
      {"data.refit", {"true", csv}},
      {"data.seed", {"2"}},
      {"optim.algorithm", {"gt"}},
      {"optim.learning-rate", {"0.05"}},
      {"optim.learning-rate-schedule", {"cosine:500"}},
      {"optim.momentum", {"0.8"}},
      {"optim.adam-beta2", {"0.95"}},
      {"optim.weight-decay", {"0.001"}},
      {"optim.local-optimizer", {"nesterov"}},
      {"optim.local-steps", {"4"}},
      {"optim.outer", {"nesterov"}},
      {"optim.outer-learning-rate", {"0.5"}},
      {"optim.outer-momentum", {"0.5"}},
      {"optim.outer-pull", {"0.5"}},
      {"optim.admm-penalty", {"0.5"}},
      {"optim.admm-relaxation", {"0.9"}},
  };
}

gossip::Options options_of(const Keys& keys) {
  const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  auto config = daemon::read_config(*settings, {});
  if (!config) FAIL(config.error().text);
  return std::move(config->node);
}

Keys with(Keys keys, const std::string& key, const std::string& value) {
  keys.emplace_back(key, value);
  return keys;
}

// node-1, and half a second later node-2, which asks it.
struct Two {
  Two(gossip::Options first, gossip::Options second, const CannedTrainer& trainer = {})
      : nodes({.saw_output = [this](const auto&, const gossip::Output& output,
                                    const auto&) { saw(output); },
               .stepped = [](const auto&) {}}) {
    nodes.start("node-1", std::move(first), trainer);
    nodes.run(500ms);
    second.seeds = {FewNodes::control_of("node-1")};
    nodes.start("node-2", std::move(second), trainer);
  }
  void saw(const gossip::Output& output) {
    const auto* send = std::get_if<gossip::Send>(&output);
    const auto* introduce = std::get_if<gossip::Introduce>(&output);
    if (const gossip::Message* message = send        ? &send->message
                                         : introduce ? &introduce->message
                                                     : nullptr)
      ++sent[std::string(gossip::kind_of(message->body).name)];
  }
  std::vector<std::string> warnings(const std::string& node) const {
    return nodes.find(node)->warnings(nodes.now());
  }
  std::vector<gossip::EdgeStatus> edges(const std::string& node) const {
    return nodes.find(node)->status(nodes.now()).edges;
  }

  std::map<std::string, int> sent;  // messages by kind
  FewNodes nodes;
};

std::string value_of(const gossip::Options& options, const std::string& key) {
  for (const auto& [name, value] : gossip::agreed(options))
    if (name == key) return value.empty() ? "\"\"" : value;
  return "no value";
}

}  // namespace

TEST_CASE("The table holds every agreed key") {
  std::set<std::string> agreed, listed;
  for (const Key& key : daemon::schema().keys())
    if (key.scope == Scope::agreed) agreed.insert(key.name);
  for (const auto& [key, other] : others()) listed.insert(key);
  CHECK(agreed == listed);
  std::set<std::string> compared;
  for (const auto& [key, value] : gossip::agreed(options_of({}))) compared.insert(key);
  CHECK(compared == agreed);
}

TEST_CASE("Two nodes that differ in an agreed key say so by name within a second") {
  for (const auto& [key, other] : others()) {
    CAPTURE(key);
    const gossip::Options first = options_of(other.both);
    const gossip::Options second = options_of(with(other.both, key, other.value));
    const std::string here = value_of(first, key), there = value_of(second, key);
    REQUIRE(here != there);
    Two two(first, second);
    two.nodes.run(1s);
    CHECK(two.warnings("node-1") == std::vector<std::string>{"no edge to node-2: it has " + key +
                                                             "=" + there + "; this node " + here});
    CHECK(two.warnings("node-2") == std::vector<std::string>{"no edge to node-1: it has " + key +
                                                             "=" + here + "; this node " + there});
    two.nodes.run(4s);
    CHECK(two.warnings("node-1").size() == 1);
    CHECK(two.sent["vector"] == 0);
    CHECK(two.sent["hello"] == 0);
    CHECK(two.edges("node-1").empty());
    CHECK(two.edges("node-2").empty());
  }
}

TEST_CASE("Several differences are said in one sentence") {
  const Keys keys = {{"topology.kind", "torus"}, {"optim.admm-penalty", ".50"}};
  Two two(options_of({{"topology.kind", "ring"}}), options_of(keys));
  two.nodes.run(1s);
  CHECK(two.warnings("node-1").front() ==
        "no edge to node-2: it has topology.kind=torus and optim.admm-penalty=0.5; this node ring "
        "and 0.1");
}

TEST_CASE("Founders of different keys do not found together and each says so") {
  const auto options = [](const std::string& missing) {
    return options_of({{"data.missing", missing}, {"cluster.expect", "2"}});
  };
  Two two(options("impute"), options("drop"), {.survey = "columns"});
  two.nodes.run(1s);
  for (const std::string node : {"node-1", "node-2"}) {
    CAPTURE(node);
    REQUIRE(two.warnings(node).size() == 1);
    CHECK(two.warnings(node).front().find("data.missing=") != std::string::npos);
  }
  two.nodes.run(20s);
  CHECK(two.sent["survey"] == 0);
  CHECK(two.nodes.find("node-1")->status(two.nodes.now()).state == gossip::State::training);
}

TEST_CASE("Values that are written differently and mean the same agree") {
  const Keys first = {{"optim.learning-rate", "0.10"},
                      {"model.hidden", "64"},
                      {"optim.learning-rate-schedule", "step:100:0.5"},
                      {"data.partition", "iid"},
                      {"exchange.codec", "f32"}};
  const Keys second = {{"optim.learning-rate", "1e-1"},
                       {"optim.learning-rate-schedule", "step:1e2:.5"},
                       {"optim.algorithm", "dpsgd"},
                       {"model.kind", "mlp"},
                       {"topology.degree", "04"}};
  Two two(options_of(first), options_of(second));
  two.nodes.run(1s);
  CHECK(two.warnings("node-1").empty());
  REQUIRE(two.edges("node-1").size() == 1);
  CHECK(two.edges("node-1").front().state == gossip::EdgeState::active);
  CHECK(two.sent["terms"] == 0);
}

TEST_CASE("A node's own keys may differ") {
  const Keys own = {
      {"node.seed", "7"},        {"optim.batch-size", "8"},   {"stop.stay", "true"},
      {"eval.every", "3"},       {"eval.samples", "100"},     {"cluster.preset", "local"},
      {"data.ignore", "id"},     {"data.separator", "tab"},   {"data.header", "false"},
      {"node.log", "debug"},     {"data.test-path", "t.csv"}, {"eval.share", "0.5"},
      {"data.decimal", "comma"}, {"optim.clip", "1"},         {"optim.noise", "2"},
      {"optim.delta", "1e-6"},   {"data.suppress-below", "5"}};
  Two two(options_of({}), options_of(own));
  two.nodes.run(1s);
  CHECK(two.warnings("node-1").empty());
  REQUIRE(two.edges("node-1").size() == 1);
  CHECK(two.edges("node-1").front().state == gossip::EdgeState::active);
}

TEST_CASE("Where each node says what it holds the dealing of the data is its own affair") {
  const auto options = [](const std::string& shard, const std::string& seed) {
    return options_of({{"data.shard", shard}, {"data.seed", seed}, {"data.holdout", "0." + seed}});
  };
  Two two(options("0/2", "1"), options("all", "2"));
  two.nodes.run(1s);
  CHECK(two.warnings("node-1").empty());
  REQUIRE(two.edges("node-1").size() == 1);
}

// The ring of those who agree is whole: it does not go through the one who does not.
TEST_CASE("A node that differs leaves no gap among those that agree") {
  const gossip::Options ring = options_of({{"topology.kind", "ring"}});
  Two two(ring, ring);
  gossip::Options third = ring, other = options_of({{"topology.kind", "star"}});
  third.seeds = other.seeds = {FewNodes::control_of("node-1")};
  two.nodes.start("node-3", third, {});
  two.nodes.start("node-4", other, {});
  two.nodes.run(3s);
  for (const std::string node : {"node-1", "node-2", "node-3"}) {
    CAPTURE(node);
    CHECK(two.edges(node).size() == 2);
    CHECK(two.warnings(node) ==
          std::vector<std::string>{"no edge to node-4: it has topology.kind=star; this node ring"});
  }
  CHECK(two.edges("node-4").empty());
  CHECK(two.warnings("node-4").size() == 3);
}

TEST_CASE("A lost answer about what differs is asked for again") {
  Two two(options_of({}), options_of({{"model.l2", "1"}}));
  for (int k = 0; k < 3; ++k) {
    two.nodes.meddle({Mishap::Kind::drop, "terms", "node-1", "node-2"});
    two.nodes.meddle({Mishap::Kind::drop, "terms", "node-2", "node-1"});
  }
  two.nodes.run(100ms);
  CHECK(
      two.warnings("node-2") ==
      std::vector<std::string>{"no edge to node-1: it differs in a key on which nodes must agree"});
  two.nodes.run(2s);
  CHECK(two.warnings("node-2") ==
        std::vector<std::string>{"no edge to node-1: it has model.l2=auto; this node 1"});
}

TEST_CASE("A node that comes back with other values is judged by those") {
  Two two(options_of({}), options_of({{"model.l2", "1"}}));
  two.nodes.run(1s);
  CHECK(two.warnings("node-1").size() == 1);
  two.nodes.kill("node-2");
  two.nodes.run(200ms);
  gossip::Options again = options_of({});
  again.incarnation = 2;
  again.seeds = {FewNodes::control_of("node-1")};
  two.nodes.start("node-2", again, {});
  two.nodes.run(3s);
  CHECK(two.warnings("node-1").empty());
  REQUIRE(two.edges("node-1").size() == 1);
  CHECK(two.edges("node-1").front().state == gossip::EdgeState::active);
}
