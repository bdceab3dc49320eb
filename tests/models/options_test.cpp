#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

struct Reading {
  DataOptions data;
  ModelOptions model;
  std::vector<std::string> mistakes;
};

Reading read(const std::vector<std::pair<std::string, std::string>>& keys) {
  Schema schema;
  describe_data(schema);
  describe_model(schema);
  Settings settings(schema);
  for (const auto& [name, value] : keys) settings.set(name, value, "command line");
  Reader reader(settings);
  Reading reading;
  reading.data = read_data_options(reader);
  reading.model = read_model_options(reader);
  reading.mistakes = reader.mistakes();
  return reading;
}

}  // namespace

TEST_CASE("Defaults are without mistake and learn digits alone") {
  const Reading reading = read({});
  CHECK(reading.mistakes.empty());
  CHECK(reading.data.source == Source::digits);
  CHECK(reading.data.shard == ShardChoice{});
  CHECK(reading.model.kind == ModelKind::automatic);
}

TEST_CASE("Options read what a user writes") {
  const Reading reading = read({{"data.partition", "dirichlet:0.5"},
                                {"data.shard", "3/8"},
                                {"data.source", "reference"},
                                {"data.reference.n", "8"},
                                {"model.hidden", "256,128"},
                                {"model.precision", "f64"}});
  CHECK(reading.mistakes.empty());
  CHECK(reading.data.partition == Partition{Partition::Kind::dirichlet, 0.5});
  CHECK(reading.data.shard == ShardChoice{ShardChoice::Kind::part, 3, 8});
  CHECK(reading.data.reference.n == 8);
  CHECK(reading.model.hidden == std::vector<std::size_t>{256, 128});
  CHECK(reading.model.precision == Precision::f64);
  CHECK(to_string(reading.data.partition) == "dirichlet:0.5");
}

TEST_CASE("Every wrong value is a mistake that names its key") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"data.source", "mnist"},    {"data.partition", "dirichlet"},
      {"data.partition", "iid:1"}, {"data.partition", "dirichlet:-1"},
      {"data.shard", "8/8"},       {"data.shard", "-1/8"},
      {"data.shard", "x"},         {"data.holdout", "1"},
      {"data.samples", "0"},       {"data.reference.m", "0"},
      {"model.kind", "cnn"},       {"model.hidden", "64,x"},
      {"model.hidden", "0"},       {"model.l2", "-1"},
      {"model.precision", "f16"},  {"data.reference.seed", "-1"}};
  for (const auto& key : wrong) {
    const Reading reading = read({key});
    REQUIRE(reading.mistakes.size() == 1);
    CHECK(reading.mistakes.front().find(key.first) != std::string::npos);
  }
  CHECK(read({{"data.source", "idx"}}).mistakes.size() == 1);
  CHECK(read({{"data.source", "reference"}, {"data.shard", "16/20"}}).mistakes.size() == 1);
}
