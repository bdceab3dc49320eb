// What a node answers about rows that it did not train on, beside what its trainer says of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/prng.h"
#include "daemon/rest/http_client.h"
#include "tests/system/harness.h"

using namespace starling;
using nlohmann::json;
using testing::eventually;
using testing::run;
using testing::temporary_file;

namespace {

// Of loss and rmse, relative: trainers may compute in single precision, predictions in double.
constexpr double kTolerance = 1e-6;
constexpr std::size_t kSlice = 7;  // rows of a request; does not divide the rows of the test file

struct Sample {
  json columns;  // as /v1/predict takes a row
  json truth;
};

// Numbers and words, both with gaps, and a target that follows from them: an amount, or one of
// `classes` classes.
std::vector<Sample> samples(std::size_t count, std::uint64_t seed, int classes) {
  constexpr const char* kJobs[] = {"nurse", "clerk", "smith", "baker"};
  Prng prng(seed);
  std::vector<Sample> list;
  for (std::size_t i = 0; i < count; ++i) {
    const double age = 20 + static_cast<double>(prng.below(500)) / 10;
    const double hours = 10 + static_cast<double>(prng.below(300)) / 10;
    const std::size_t job = prng.below(4);
    const double score = 0.05 * age - 0.1 * hours + static_cast<double>(job) + prng.normal();
    json columns = {{"age", age}, {"job", kJobs[job]}, {"hours", hours}};
    if (i % 7 == 0) columns["age"] = nullptr;
    if (i % 11 == 0) columns["job"] = nullptr;
    json truth = std::round(1000 * (100 + 20 * score)) / 1000;
    if (classes > 0)
      truth = fmt::format("c{}", std::clamp(static_cast<int>(score), 0, classes - 1));
    list.push_back({std::move(columns), std::move(truth)});
  }
  return list;
}

std::string cell(const json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string table(const std::vector<Sample>& list) {
  std::string text = "age,job,hours,y\n";
  for (const auto& [columns, truth] : list)
    text += fmt::format("{},{},{},{}\n", cell(columns["age"]), cell(columns["job"]),
                        cell(columns["hours"]), cell(truth));
  return text;
}

json predictions(const testing::Daemon& node, const std::vector<Sample>& list) {
  json all = json::array();
  for (std::size_t first = 0; first < list.size(); first += kSlice) {
    json rows = json::array();
    for (std::size_t i = first; i < std::min(first + kSlice, list.size()); ++i)
      rows.push_back(list[i].columns);
    const json answer = node.ask("/v1/predict", {{"rows", rows}});
    REQUIRE(answer.contains("predictions"));
    REQUIRE(answer["predictions"].size() == rows.size());
    for (const json& prediction : answer["predictions"]) all.push_back(prediction);
  }
  return all;
}

struct Scores {
  double loss = 0, accuracy = 0, rmse = 0;
};

Scores class_scores(const json& answers, const std::vector<Sample>& list) {
  const auto count = static_cast<double>(list.size());
  double loss = 0, right = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto truth = list[i].truth.get<std::string>();
    loss -= std::log(answers[i]["probabilities"].at(truth).get<double>());
    right += answers[i]["prediction"] == truth ? 1 : 0;
  }
  return {.loss = loss / count, .accuracy = right / count};
}

Scores amount_scores(const json& answers, const std::vector<Sample>& list) {
  double squares = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    squares += std::pow(answers[i]["prediction"].get<double>() - list[i].truth.get<double>(), 2);
  return {.rmse = std::sqrt(squares / static_cast<double>(list.size()))};
}

// Ends the round of the node, and gives its status once it rests.
json paused_status(const testing::Daemon& node) {
  REQUIRE(eventually([&] { return node.round() > 20; }));
  REQUIRE(node.post("/v1/pause", "") == 202);
  json status;
  REQUIRE(eventually([&] {
    status = node.get("/v1/status");
    return status.is_object() && status["node"]["state"] == "paused";
  }));
  REQUIRE(status["run"]["eval"]["round"] == status["run"]["round"]);
  return status;
}

// The path of the file that /v1/model gives.
std::string fetched_model(const testing::Daemon& node) {
  const auto reply =
      daemon::http_request(node.http(), "GET", "/v1/model", "", std::chrono::seconds(20));
  REQUIRE(reply.has_value());
  REQUIRE(reply->status == 200);
  return temporary_file("fetched.safetensors", reply->body);
}

struct Case {
  std::string kind;
  int classes;  // 0: an amount
  std::string precision;
};

void expect_same(const Case& model, const json& evaluation, const Scores& answered,
                 const json& evaluated) {
  const std::string what = model.classes > 0 ? "loss" : "rmse";
  const double seen = model.classes > 0 ? answered.loss : answered.rmse;
  const auto trained = doctest::Approx(evaluation.at(what).get<double>()).epsilon(kTolerance);
  CHECK(seen == trained);
  if (model.classes == 0) {
    CHECK(evaluated.at("rmse").get<double>() == trained);
    return;
  }
  CHECK(answered.accuracy == evaluation.at("accuracy").get<double>());
  CHECK(evaluated.at("accuracy").get<double>() == evaluation.at("accuracy").get<double>());
}

}  // namespace

TEST_CASE("Predictions of held-out rows give the evaluation of the trainer") {
  const Case cases[] = {{"logistic", 2, "f64"}, {"softmax", 3, "f64"}, {"linear", 0, "f64"},
                        {"mlp", 0, "f64"},      {"mlp", 3, "f32"},     {"linear", 0, "f32"}};
  for (const Case& model : cases) {
    CAPTURE(model.kind);
    CAPTURE(model.classes);
    CAPTURE(model.precision);
    const std::vector<Sample> held_out = samples(80, 2, model.classes);
    const std::string data = temporary_file("train.csv", table(samples(300, 1, model.classes)));
    const std::string test = temporary_file("test.csv", table(held_out));
    const testing::Daemon node(
        "a",
        {"--data.source=csv", "--data.target=y", "--data.path=" + data, "--data.test-path=" + test,
         "--model.kind=" + model.kind, "--model.precision=" + model.precision,
         "--data.missing=impute", "--eval.samples=0", "--stop.rounds=1000000000"});
    const json evaluation = paused_status(node)["run"]["eval"];
    const json answers = predictions(node, held_out);
    const testing::Outcome evaluated =
        run(fmt::format("evaluate --json {} {}", fetched_model(node), test));
    CAPTURE(evaluated.err);
    REQUIRE(evaluated.exit_code == 0);
    expect_same(
        model, evaluation,
        model.classes > 0 ? class_scores(answers, held_out) : amount_scores(answers, held_out),
        json::parse(evaluated.out));
  }
}

TEST_CASE("A model knows whether its table had a header and how numbers were written there") {
  const auto rows = [](std::size_t first, const std::string& missing) {
    std::string text;
    for (std::size_t i = first; i < first + 60; ++i)
      text += fmt::format("{};{};{}\n", i == first + 7 ? missing : fmt::format("{},{}", i, i % 10),
                          i % 3, i % 2 == 0 ? "yes" : "no");
    return text;
  };
  const testing::Daemon node("a", {"--data.header=false", "--data.target=3",
                                   "--data.path=" + temporary_file("train.csv", rows(0, "k.A.")),
                                   "--stop.rounds=1000000000"});
  paused_status(node);
  const std::string model = fetched_model(node);
  const std::string test = temporary_file("test.csv", rows(100, "k.A."));
  const testing::Outcome evaluated = run(fmt::format("evaluate --json {} {}", model, test));
  CAPTURE(evaluated.err);
  REQUIRE(evaluated.exit_code == 0);
  CHECK(json::parse(evaluated.out)["rows"] == 60);
  CHECK(run(fmt::format("predict {} {}", model, test)).exit_code == 0);
  const std::string other = temporary_file("test.csv", rows(100, "none"));
  CHECK(run(fmt::format("predict {} {}", model, other)).err.find("write NA") != std::string::npos);
}

TEST_CASE("Several models predict together and say how far apart they are") {
  const std::string train = temporary_file("train.csv", table(samples(200, 3, 3)));
  const std::string test = temporary_file("test.csv", table(samples(100, 4, 3)));
  std::vector<std::string> models;
  for (const std::string kind : {"softmax", "mlp"}) {
    models.push_back(temporary_file(kind + ".safetensors", ""));
    CHECK(run(fmt::format("up -n 1 --data.path={} --data.target=y --model.kind={} --stop.rounds=50 "
                          "--output={}",
                          train, kind, models.back()))
              .exit_code == 0);
  }
  const std::string both = fmt::format("{} {} --ensemble={}", models[0], test, models[1]);
  const auto predicted = run("predict " + both);
  CHECK(
      predicted.out.starts_with("prediction,probability c0,probability c1,probability c2,spread"));
  const json judged = json::parse(run("evaluate " + both + " --json").out);
  CHECK(judged["ensemble"]["models"] == 2);
  CHECK(judged["accuracy"].get<double>() ==
        doctest::Approx(judged["ensemble"]["of_best"].get<double>() +
                        judged["ensemble"]["gain"].get<double>()));
  const auto amounts = run(fmt::format("predict {} {} --partial", models[0], test));
  CHECK(amounts.exit_code == 2);
  CHECK(amounts.err.find("predicts by itself") != std::string::npos);
}
