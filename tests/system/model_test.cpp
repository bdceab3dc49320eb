// The model's file, from training to prediction on a machine that saw none of the data.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/prng.h"
#include "base/text.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::run;
using testing::temporary_file;

namespace {

constexpr char kPython[] = "/usr/bin/python3";

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The `index`-th piece of Python in the page.
std::string code_of_page(std::size_t index) {
  const std::string page = text_of(STARLING_ROOT "/docs/use-model.md");
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= index; ++i) begin = page.find("```python\n", begin) + 10;
  return page.substr(begin, page.find("```", begin) - begin);
}

bool has_numpy() {
  const std::string look = fmt::format("{} -c 'import numpy' 2>/dev/null", kPython);
  const bool has = std::system(look.c_str()) == 0;
  if (!has) MESSAGE("skipped: python3-numpy is not installed");
  return has;
}

// Numbers with gaps, words with gaps, and a target of either kind that follows from them.
std::string table(std::size_t rows, std::uint64_t seed, const std::string& kind) {
  std::string text = "age,job,\"hours, a week\",y\n";
  Prng prng(seed);
  const char* jobs[] = {"nurse", "clerk", "\"smith, \"\"old\"\"\"", "?"};
  for (std::size_t r = 0; r < rows; ++r) {
    const double age = 20 + 50 * prng.uniform(), hours = 10 + 30 * prng.uniform();
    const std::size_t job = prng.below(4);
    const double score = 0.05 * age - 0.1 * hours + static_cast<double>(job) + prng.normal();
    const std::string target = kind == "amount" ? fmt::format("{:.3f}", 100 + 20 * score)
                               : kind == "two"  ? (score > 1 ? "\"yes, all\"" : "no")
                                                : fmt::format("c{}", std::clamp(int(score), 0, 2));
    text += fmt::format("{},{},{},{}\n", r % 7 == 0 ? "NA" : fmt::format("{:.2f}", age), jobs[job],
                        hours, target);
  }
  return text;
}

// The fields of every line; the tests write no quotes into predictions.
std::vector<std::vector<std::string>> fields_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) lines.push_back(split(line, ','));
  return lines;
}

void expect_same(const std::string& ours, const std::string& theirs) {
  const auto a = fields_of(ours), b = fields_of(theirs);
  REQUIRE(a.size() == b.size());
  REQUIRE(a.size() > 1);
  double largest = 0;
  for (std::size_t r = 0; r < a.size(); ++r) {
    REQUIRE(a[r].size() == b[r].size());
    for (std::size_t c = 0; c < a[r].size(); ++c) {
      const auto x = parse_number(a[r][c]), y = parse_number(b[r][c]);
      REQUIRE(x.has_value() == y.has_value());
      if (x)
        largest = std::max(largest, std::abs(*x - *y) / std::max(1.0, std::abs(*x)));
      else
        CHECK(a[r][c] == b[r][c]);
    }
  }
  CHECK(largest < 1e-5);
}

// Trains on `rows`, and gives the path of the model.
std::string train(const std::string& name, const std::string& rows, const std::string& keys) {
  const std::string data = temporary_file(name + ".csv", rows);
  const std::string model = data + ".safetensors";
  const testing::Outcome outcome =
      run(fmt::format("up -n 2 --listen.http=127.0.0.1:0 --data.source=csv --data.target=y "
                      "--stop.rounds=60 --data.path={} --output {} {}",
                      data, model, keys));
  CAPTURE(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.find("Model in " + model) != std::string::npos);
  return model;
}

void expect_refused(const std::string& arguments, const std::string& hint) {
  const testing::Outcome outcome = run(arguments);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find(hint) != std::string::npos);
}

}  // namespace

TEST_CASE("The page that predicts in Python says what the program says") {
  if (!has_numpy()) return;
  const std::string page = temporary_file("predict.py", code_of_page(0));
  const std::tuple<const char*, const char*> cases[] = {
      {"two", "--model.kind=softmax"},
      {"two", "--model.kind=logistic"},
      {"three", "--model.kind=mlp"},
      {"amount", "--model.kind=linear"},
      {"amount", "--model.kind=mlp --model.precision=f64"}};
  for (const auto& [kind, keys] : cases) {
    CAPTURE(kind);
    CAPTURE(keys);
    const std::string model = train("page", table(300, 1, kind), keys);
    const std::string fresh = temporary_file("fresh.csv", table(80, 2, kind));
    const testing::Outcome ours = run("predict " + model + " " + fresh);
    CHECK(ours.exit_code == 0);
    CHECK(ours.err.empty());
    const std::string out = fresh + ".out";
    REQUIRE(std::system(
                fmt::format("{} {} {} {} > {}", kPython, page, model, fresh, out).c_str()) == 0);
    expect_same(ours.out, text_of(out));
  }
}

TEST_CASE("The page that hashes words in Python finds the features of the program") {
  if (!has_numpy()) return;
  std::string code = code_of_page(0);
  const std::string plain = "yield from (float(cell == word) for word in column[\"words\"])";
  REQUIRE(code.find(plain) != std::string::npos);
  code.replace(
      code.find(plain), plain.size(),
      "place = word_hash(column[\"name\"], cell, column[\"hash_bits\"])\n"
      "            yield from (float(i == place) for i in range(2**column[\"hash_bits\"]))");
  const std::string page = temporary_file("hashed.py", code_of_page(1) + code);
  const std::string model = train("hashed", table(300, 1, "two"), "--data.words=hash:4");
  CHECK(text_of(model).find("nurse") == std::string::npos);
  const std::string fresh = temporary_file("fresh.csv", table(80, 2, "two"));
  const std::string out = fresh + ".out";
  REQUIRE(std::system(fmt::format("{} {} {} {} > {}", kPython, page, model, fresh, out).c_str()) ==
          0);
  expect_same(run("predict " + model + " " + fresh).out, text_of(out));
}

TEST_CASE("A model goes on from its file and answers rows over REST") {
  const std::string model = train("again", table(300, 1, "two"), "--model.kind=mlp");
  const std::string data = temporary_file("again.csv", table(300, 1, "two"));
  testing::Daemon node("a", {"--data.source=csv", "--data.target=y", "--data.path=" + data,
                             "--from", model, "--optim.learning-rate=1e-9"});
  REQUIRE(testing::eventually([&] { return node.round() > 3; }));
  const std::string fresh =
      temporary_file("fresh.csv", "job,\"hours, a week\",age\nclerk,20.5,NA\n");
  const json expected = json::parse(run("predict --json " + model + " " + fresh).out);
  const json row = {{"age", nullptr}, {"job", "clerk"}, {"hours, a week", 20.5}};
  const json seen = node.ask("/v1/predict", {{"rows", {row}}});
  REQUIRE(seen.contains("predictions"));
  const double difference = seen["predictions"][0]["probabilities"]["yes, all"].get<double>() -
                            expected["predictions"][0]["probabilities"]["yes, all"].get<double>();
  CHECK(std::abs(difference) < 1e-5);
}

TEST_CASE("A model of images or of sparse rows is evaluated on data of its kind") {
  const auto evaluated = [](const std::string& learning, const std::string& data) {
    const std::string model = temporary_file("kinds.safetensors", "");
    const testing::Outcome trained =
        run(fmt::format("up -n 2 --listen.http=127.0.0.1:0 --stop.rounds=60 --output {} {} {}",
                        model, learning, data));
    CAPTURE(trained.err);
    REQUIRE(trained.exit_code == 0);
    const testing::Outcome scored = run(fmt::format("evaluate {} {} --json", model, data));
    CAPTURE(scored.err);
    REQUIRE(scored.exit_code == 0);
    const testing::Outcome said = run(fmt::format("predict {} {}", model, data));
    auto scores = nlohmann::json::parse(scored.out);
    CHECK(fields_of(said.out).size() == scores["rows"].get<std::size_t>() + 1);
    return scores;
  };
  const auto images = evaluated("--model.kind=net --model.layers=conv:4:5,pool:4",
                                "--data.source=digits --data.samples=300");
  CHECK(images["rows"] == 60);  // those held out
  CHECK(images["confusion"].size() == 10);
  CHECK(images["accuracy"].get<double>() > images["baseline_accuracy"].get<double>());
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += i % 2 ? "+1 1:1 3:0.5\n" : "-1 2:1\n";
  const auto sparse =
      evaluated("", "--data.source=libsvm --data.path=" + temporary_file("rows.libsvm", lines));
  CHECK(sparse["rows"] == 200);
  CHECK(sparse["accuracy"] == 1.0);
  CHECK(sparse["surest_mistakes"].empty());
}

TEST_CASE("Tables that a model cannot predict are refused with what is wrong") {
  const std::string model = train("refusals", table(100, 1, "two"), "--model.kind=softmax");
  const std::string few = temporary_file("few.csv", "age,y\n1,yes\n");
  expect_refused("predict " + model + " " + few,
                 "has no column job, hours, a week; its columns are age, y");
  const std::string bad =
      temporary_file("bad.csv", "age,job,\"hours, a week\"\n1,nurse,2\nold,nurse,2\n");
  expect_refused("predict " + model + " " + bad,
                 "line 3: column age holds \"old\", expected a number");
  expect_refused("evaluate " + model + " " + bad, "has no column y");
  expect_refused("predict " + bad + " " + bad, "is no safetensors file");
  expect_refused("predict " + model, "expected MODEL and FILE.csv");
}

TEST_CASE("From a threshold on the second of two classes is predicted") {
  const std::string model = train("threshold", table(300, 1, "two"), "");
  const std::string rows = table(80, 2, "two"), fresh = temporary_file("fresh.csv", rows);
  const json said = json::parse(run("predict --json " + model + " " + fresh).out)["predictions"];
  const auto lines = split(rows, '\n');
  const auto evaluate = [&](const std::string& of, const std::string& threshold) {
    return fmt::format("evaluate --json {} {} --threshold {}", of, fresh, threshold);
  };
  for (const char* threshold : {"0.2", "0.5", "0.8"}) {
    double found = 0, taken = 0, all = 0;
    for (std::size_t r = 0; r < said.size(); ++r) {
      const bool is_yes = lines[r + 1].ends_with("\"yes, all\"");
      const bool is_taken = said[r]["probabilities"]["yes, all"] >= *parse_number(threshold);
      found += is_yes && is_taken ? 1 : 0;
      taken += is_taken ? 1 : 0;
      all += is_yes ? 1 : 0;
    }
    CAPTURE(threshold);
    const json yes = json::parse(run(evaluate(model, threshold)).out)["classes"][1];
    CHECK(yes["precision"] == found / taken);
    CHECK(yes["recall"] == found / all);
  }
  for (const char* wrong : {"0", "1", "-0.1", "1.5", "nan", "half"})
    expect_refused(evaluate(model, wrong), fmt::format("--threshold {}: expected a probability "
                                                       "above 0 and below 1",
                                                       wrong));
  expect_refused(evaluate(train("threshold", table(300, 1, "three"), ""), "0.3"),
                 "--threshold 0.3: tells two classes apart, and the model has 3");
}
