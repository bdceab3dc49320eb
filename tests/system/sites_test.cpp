// Sites with tables of their own, in real processes.
#include <doctest/doctest.h>

#include <filesystem>

#include "base/prng.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::run;
using testing::temporary_file;

namespace {

// Rows of a number and a word of `words`, with one of `classes` that follows from the number.
std::string table(std::size_t rows, std::size_t words, std::vector<std::string> classes,
                  std::uint64_t seed) {
  std::string text = "a,w,y\n";
  Prng prng(seed);
  for (std::size_t r = 0; r < rows; ++r) {
    const double a = prng.uniform();
    const auto place = static_cast<std::size_t>(a * static_cast<double>(classes.size()));
    text += fmt::format("{:.3f},word{},{}\n", a, prng.below(words), classes[place]);
  }
  return text;
}

// The pattern of files that hold these tables.
std::string files(const std::string& name, const std::vector<std::string>& tables) {
  std::string path;
  for (std::size_t i = 0; i < tables.size(); ++i)
    path = temporary_file(fmt::format("{}-{}.csv", name, i), tables[i]);
  return fmt::format("{}/{}-{{i}}.csv", std::filesystem::path(path).parent_path().string(), name);
}

const std::string kUp = "up --listen.http=127.0.0.1:0 --data.target=y --stop.rounds=40 ";

// Why a node does not train, or what else is the matter.
bool gives_reason(const testing::Daemon& node, const std::string& text) {
  return testing::eventually([&] {
    const json status = node.get("/v1/status");
    return status.is_object() && status.contains("node") &&
           status["node"]["reasons"].dump().find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("Sites with files of their own agree on classes that one of them lacks") {
  const std::string path = files("ward", {table(200, 3, {"x", "y", "z"}, 1),
                                          table(100, 3, {"x", "z"}, 2), table(50, 3, {"y"}, 3)});
  const std::string model = temporary_file("ward.model", "");
  const testing::Outcome outcome =
      run(fmt::format("{} -n 3 --data.path='{}' --output {}", kUp, path, model));
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 0);
  for (const char* line :
       {"- node-1: no row of class y, which others have",
        "- node-2: no row of class x, which others have",
        "- every site weighs the same, whatever its rows",
        "- a linear model (model.kind = softmax); model.kind = mlp finds bends", "Algorithm "})
    CHECK(outcome.out.find(line) != std::string::npos);
  const std::string test = temporary_file("test.csv", table(60, 3, {"x", "y", "z"}, 4));
  const json scores = json::parse(run(fmt::format("evaluate --json {} {}", model, test)).out);
  REQUIRE(scores["classes"].size() == 3);
  CHECK(scores["accuracy"] > 0.5);
}

TEST_CASE("Sites whose tables do not go together are refused before anything starts") {
  const std::string good = table(50, 3, {"x", "z"}, 1);
  const auto refusal = [&](const std::string& name, const std::string& other) {
    const testing::Outcome outcome =
        run(fmt::format("{} -n 2 --data.path='{}'", kUp, files(name, {good, other})));
    CHECK(outcome.exit_code == 2);
    return outcome.err;
  };
  CHECK(refusal("words", "a,w,y\nlow,word1,x\nhigh,word2,z\n")
            .find("words-1.csv: column a holds numbers") != std::string::npos);
  CHECK(refusal("column", "a,y\n1,x\n2,z\n")
            .find("column w is in the table at node-0 and not in that at node-1") !=
        std::string::npos);
  const testing::Outcome few =
      run(fmt::format("{} -n 3 --data.path='{}'", kUp, files("few", {good, good})));
  CHECK(few.exit_code == 2);
  CHECK(few.err.find("few-2.csv: No such file or directory") != std::string::npos);
  CHECK(run("run --data.target=y --data.path=site-{i}.csv").err.find("only starling up numbers") !=
        std::string::npos);
}

TEST_CASE("A table with many words does not split the cluster") {
  const std::string path = temporary_file("many.csv", table(7000, 1400, {"x", "z"}, 1));
  const testing::Outcome outcome =
      run(fmt::format("{} -n 4 --json --data.path={} --output {}.model", kUp, path, path));
  CHECK(outcome.exit_code == 0);
  const json summary = json::parse(outcome.out);
  REQUIRE(summary["nodes"].size() == 4);
  for (const json& node : summary["nodes"]) {
    CHECK(node["round"] == 40);
    // One input a word and one for the number, two classes, four bytes each, a round.
    CHECK(node["sent_bytes"] > 40 * 2 * 1300 * 4);
  }
}

TEST_CASE("Running nodes that deal out files of their own say what to set and do not train") {
  const auto arguments = [](const std::string& path, const std::string& join) {
    std::vector<std::string> all{"--data.target=y", "--data.path=" + path};
    if (!join.empty()) all.push_back("--cluster.join=" + join);
    return all;
  };
  const auto site = [](std::size_t k) {
    return temporary_file(fmt::format("own-{}.csv", k), table(50 + 30 * k, 3, {"x", "z"}, k));
  };
  const std::string remedy = "set data.shard = all at all nodes if each has a file of its own";
  auto expecting = arguments(site(0), "");
  expecting.push_back("--cluster.expect=2");
  testing::Daemon a("a", expecting);
  expecting = arguments(site(1), to_string(a.control()));
  expecting.push_back("--cluster.expect=2");
  testing::Daemon b("b", expecting);
  for (const testing::Daemon* founder : {&a, &b}) {
    CHECK(gives_reason(*founder, "cannot train with these nodes: the file at one node has"));
    CHECK(gives_reason(*founder, remedy));
    CHECK(founder->round() == 0);
  }
  testing::Daemon first("first", arguments(site(0), ""));
  REQUIRE(testing::eventually([&] { return first.round() > 0; }));
  testing::Daemon late("late", arguments(site(1), to_string(first.control())));
  CHECK(gives_reason(late, "the model of first does not fit this node: the file of this node has"));
  CHECK(gives_reason(late, remedy));
  CHECK(late.round() == 0);
}

TEST_CASE("Running nodes whose tables do not go together say why and do not train apart") {
  const auto arguments = [](const std::string& path) {
    return std::vector<std::string>{"--data.target=y", "--data.path=" + path, "--data.shard=all",
                                    "--cluster.expect=2"};
  };
  testing::Daemon a("a", arguments(temporary_file("a.csv", table(50, 3, {"x", "z"}, 1))));
  auto others = arguments(temporary_file("b.csv", "a,w,y\nlow,word1,x\nhigh,word2,z\n"));
  others.push_back("--cluster.join=" + to_string(a.control()));
  testing::Daemon b("b", others);
  CHECK(gives_reason(a, "cannot train with these nodes: column a holds"));
  CHECK(gives_reason(b, "cannot train with these nodes: column a holds"));
  CHECK(a.round() == 0);
  CHECK(b.round() == 0);
}

TEST_CASE("A fleet whose data hold one class ends with the code of wrong data") {
  const std::string one = table(50, 3, {"x"}, 1);
  const testing::Outcome outcome =
      run(fmt::format("{} -n 2 --data.path='{}'", kUp, files("single", {one, one})));
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.find("cannot train with these nodes: target y has one class, \"x\"") !=
        std::string::npos);
}
