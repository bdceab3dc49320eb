// Sites with other columns of the same rows, as people run them: what they say of a row together,
// what is said where one is lost, and what is refused.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::Daemon, testing::eventually, testing::run, testing::temporary_file;

namespace {

constexpr int kRows = 60;
constexpr char kKeys[] = "--data.target=y --data.split=columns --data.key=id --model.l2=1e-6";

// y = 1 + 2 a - 3 b + 4 c, of which each site has one column; the second one y.
struct Row {
  double a, b, c;
  double y() const { return 1 + 2 * a - 3 * b + 4 * c; }
};

std::vector<Row> rows() {
  Prng prng(11);
  std::vector<Row> drawn(kRows);
  for (Row& row : drawn) row = {prng.normal(), prng.normal(), prng.normal()};
  return drawn;
}

using Cells = std::function<std::string(const Row&)>;
const std::vector<std::pair<std::string, Cells>> kSites{
    {"a", [](const Row& row) { return fmt::format("{}", row.a); }},
    {"b,y", [](const Row& row) { return fmt::format("{},{}", row.b, row.y()); }},
    {"c", [](const Row& row) { return fmt::format("{}", row.c); }}};

std::string table(std::size_t site, int first = 0) {
  std::string text = "id," + kSites[site].first + "\n";
  int number = first;
  for (const Row& row : rows()) text += fmt::format("r{},{}\n", number++, kSites[site].second(row));
  return text;
}

// The files of the sites, named with {i}.
std::string site_files(const std::string& name) {
  std::string path;
  for (std::size_t site = 0; site < kSites.size(); ++site)
    path = temporary_file(fmt::format("{}-{}.csv", name, site), table(site));
  return path.substr(0, path.rfind('-')) + "-{i}.csv";
}

std::string path_of(std::string files, std::size_t site) {
  return files.replace(files.find("{i}"), 3, std::to_string(site));
}

// Of a csv with keys and predictions.
std::map<std::string, double> predictions(const std::string& text) {
  std::map<std::string, double> all;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "id,prediction");
  while (std::getline(lines, line))
    all[line.substr(0, line.find(','))] = std::stod(line.substr(line.find(',') + 1));
  return all;
}

// The largest difference from y.
double farthest(const std::string& text) {
  const auto all = predictions(text);
  REQUIRE(all.size() == kRows);
  double most = 0;
  int number = 0;
  for (const Row& row : rows())
    most = std::max(most, std::abs(all.at(fmt::format("r{}", number++)) - row.y()));
  return most;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string refusal(const std::string& files, const std::string& more = "") {
  const auto outcome =
      run(fmt::format("up -n 2 --data.path={} {} --stop.rounds=5 {}", files, kKeys, more));
  CHECK(outcome.exit_code == 2);
  return outcome.err;
}

// Two files of these names and texts.
std::string two_files(const std::string& name, const std::string& first,
                      const std::string& second) {
  temporary_file(name + "-0.csv", first);
  const std::string path = temporary_file(name + "-1.csv", second);
  return path.substr(0, path.rfind('-')) + "-{i}.csv";
}

std::unique_ptr<Daemon> start(const std::string& files, std::size_t site, const Daemon* seed) {
  std::vector<std::string> arguments{"--data.path=" + path_of(files, site), "--cluster.expect=3",
                                     "--security.insecure=true", "--cluster.preset=local"};
  std::istringstream keys(kKeys);
  for (std::string key; keys >> key;) arguments.push_back(key);
  if (seed) arguments.push_back("--cluster.join=" + to_string(seed->control()));
  return std::make_unique<Daemon>(fmt::format("site-{}", site), arguments);
}

}  // namespace

TEST_CASE("Sites with other columns write models that predict together") {
  const std::string files = site_files("together");
  const std::string model = temporary_file("together.safetensors", "");
  const auto up = run(
      fmt::format("up -n 3 --data.path={} {} --stop.rounds=300 --output={}", files, kKeys, model));
  REQUIRE(up.exit_code == 0);
  CHECK(has(up.out, "60 rows are in common by id, node-1 has the target"));
  const auto model_of = [&](int site) {
    return fmt::format("{}-node-{}.safetensors", model.substr(0, model.rfind('.')), site);
  };
  std::vector<std::string> scores;
  for (const int site : {0, 2}) {
    scores.push_back(temporary_file(fmt::format("scores-{}.csv", site), ""));
    CHECK(run(fmt::format("predict {} {} --partial --output={}", model_of(site),
                          path_of(files, static_cast<std::size_t>(site)), scores.back()))
              .exit_code == 0);
  }
  const std::string of_holder = fmt::format("predict {} {}", model_of(1), path_of(files, 1));
  const auto added = run(fmt::format("{} --add={},{}", of_holder, scores[0], scores[1]));
  CHECK(added.exit_code == 0);
  CHECK(farthest(added.out) < 1e-3);
  const auto without = run(fmt::format("{} --add={}", of_holder, scores[0]));
  CHECK(has(without.err, "node-2 tells no scores: its columns count as mean ones"));
  CHECK(farthest(without.out) > 1);
  const auto twice = run(fmt::format("{} --add={},{}", of_holder, scores[0], scores[0]));
  CHECK(twice.exit_code == 2);
  CHECK(has(twice.err, "the scores of node-0 are given twice"));
  const auto alone = run(of_holder);
  CHECK(alone.exit_code == 2);
  CHECK(has(alone.err, "of the columns of node-1 alone, of node-0, node-1, node-2"));
  const auto other =
      run(fmt::format("predict {} {} --add={}", model_of(0), path_of(files, 0), scores[1]));
  CHECK(other.exit_code == 2);
  CHECK(has(other.err, "node-1 has the target"));
}

TEST_CASE("Nodes with other columns are asked together and a lost one is named") {
  const std::string files = site_files("asked");
  std::vector<std::unique_ptr<Daemon>> nodes;
  for (std::size_t site = 0; site < 3; ++site)
    nodes.push_back(start(files, site, site > 0 ? nodes[0].get() : nullptr));
  std::string keys = "id\n";
  for (int number = 0; number < kRows; ++number) keys += fmt::format("r{}\n", number);
  const std::string asked = temporary_file("keys.csv", keys);
  const auto ask = [&] {
    return run(fmt::format("predict --fleet {} --api {}", asked, to_string(nodes[0]->http())));
  };
  const auto is_good = [&] {
    const auto answer = ask();
    return answer.exit_code == 0 && answer.err.empty() && farthest(answer.out) < 1e-3;
  };
  CHECK(eventually(is_good));
  nodes[2].reset();
  CHECK(eventually([&] {
    const auto answer = ask();
    return answer.exit_code == 0 && has(answer.err, "site-2 tells no scores");
  }));
  nodes[2] = start(files, 2, nodes[0].get());
  CHECK(eventually(is_good));
  nodes[1].reset();
  CHECK(eventually([&] {
    const auto answer = ask();
    return answer.exit_code == 1 && has(answer.err, "no living member has the target");
  }));
  CHECK(eventually([&] {
    return has(nodes[0]->get("/v1/status").dump(), "site-1 has the target and is not a member");
  }));
  nodes[1] = start(files, 1, nodes[0].get());
  CHECK(eventually(is_good));
  const json wrong = nodes[0]->ask("/v1/scores", {{"rows", {1}}});
  CHECK(has(wrong.dump(), "16 HEXADECIMAL DIGITS"));
}

TEST_CASE("Tables that cannot be matched by columns are refused before the start") {
  CHECK(has(refusal(two_files("twice", table(0) + "r7,1\n", table(1))),
            "id holds \"r7\", and so does line 9"));
  CHECK(has(refusal(two_files("none", table(0), table(1, 1000))), "no row is at every site"));
  CHECK(has(refusal(two_files("target", table(0), table(2))), "no site has the target"));
  std::string other = table(1);
  other.replace(other.find("b,y"), 3, "d,y");
  const std::size_t last = other.rfind(',');
  other = other.substr(0, last + 1) + "123\n";
  CHECK(has(refusal(two_files("differ", table(1), other)), "the targets of node-0 and node-1"));
  const std::string one = temporary_file("one.csv", table(1));
  CHECK(has(refusal(one), "each node has a file of its own"));
  CHECK(has(refusal(two_files("no-key", "number,a\n1,2\n", table(1))),
            "data.key = \"id\" is no column"));
  CHECK(has(refusal(two_files("kind", table(0), table(1)), "--model.kind=mlp"),
            "dual of linear models alone"));
}

TEST_CASE("Tables that other columns of the same rows have are recognised before the start") {
  const std::string files = site_files("recognised");
  const std::string keys = "--data.split=columns --data.key=id";
  const auto rows = run(fmt::format("data {} --data.target=y", files));
  CHECK(rows.exit_code == 2);
  CHECK(has(rows.err, keys + " learns from the columns of all"));
  const auto columns = run(fmt::format("data {} {}", path_of(files, 1), kKeys));
  CHECK(columns.exit_code == 0);
  CHECK(has(columns.out, "a hash of each id, salted with data.seed"));
  CHECK(has(columns.out, "one number a row and class travels"));
  const auto plan =
      run(fmt::format("plan -n 3 --data.path={} {} --model-bytes=auto", path_of(files, 1), kKeys));
  CHECK(has(plan.out, "300 rounds are 288 kB a node"));
  CHECK(has(plan.out, "f64, 480 B a vector"));
}
