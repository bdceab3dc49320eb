#include "daemon/attach/tensor_table.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/prng.h"
#include "daemon/attach/records.h"
#include "tests/lengths.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

constexpr std::size_t kRegion = 4096;

json tensor(const std::string& name, std::vector<std::size_t> shape, const char* dtype = "f32",
            const char* role = "averaged", std::size_t offset = 0) {
  return {{"name", name}, {"shape", shape}, {"dtype", dtype}, {"role", role}, {"offset", offset}};
}

std::string mistake(const json& table) {
  const auto parsed = TensorTable::parse(table.dump(), kRegion);
  return parsed ? "none" : parsed.error().text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const json kGood =
    json::array({tensor("conv.weight", {4, 3}), tensor("bn.mean", {4}, "f64", "statistic", 64),
                 tensor("steps", {}, "i64", "donor", 128), tensor("seed", {2}, "f32", "local", 192),
                 tensor("fc.bias", {5}, "bf16", "averaged", 256)});

}  // namespace

TEST_CASE("A table says which tensors are exchanged and in which order") {
  const auto table = TensorTable::parse(kGood.dump(), kRegion);
  REQUIRE(table.has_value());
  CHECK(table->tensors().size() == 5);
  CHECK(table->dimension() == 12 + 4 + 5);
  REQUIRE(table->blocks().size() == 3);
  CHECK(table->blocks()[1].name == "bn.mean");
  CHECK(table->blocks()[2].offset == 16);
  REQUIRE(table->statistics().size() == 1);
  CHECK(table->statistics()[0].offset == 12);
  CHECK(table->schema() ==
        "conv.weight 4x3 averaged\nbn.mean 4 statistic\nsteps  donor\nfc.bias 5 averaged\n");
}

TEST_CASE("Two schemas name the first tensor that differs") {
  CHECK(first_difference("a 1 averaged\nb 2 averaged\n", "a 1 averaged\nb 3 averaged\n") ==
        "tensor 1 is \"b 3 averaged\" there and \"b 2 averaged\" here");
  CHECK(first_difference("a 1 averaged\n", "a 1 averaged\nb 3 averaged\n") ==
        "there are 2 tensors there and 1 here");
}

TEST_CASE("What is wrong with a table is said with the tensor") {
  CHECK(has(mistake(json::array({tensor("w", {4}), tensor("w", {4}, "f32", "averaged", 64)})),
            "two tensors are named \"w\""));
  CHECK(has(mistake(json::array({tensor("w", {40}), tensor("v", {4}, "f32", "averaged", 64)})),
            "tensors \"w\" and \"v\" overlap"));
  CHECK(
      has(mistake(json::array({tensor("w", {4}, "f8")})), "its dtype is \"f8\"; expected one of"));
  CHECK(has(mistake(json::array({tensor("w", {4}, "f32", "mine")})), "its role is \"mine\""));
  CHECK(has(mistake(json::array({tensor("w", {4}, "i64")})), "of whole numbers"));
  CHECK(has(mistake(json::array({tensor("w", {4}, "f32", "averaged", 8)})), "a multiple of 64"));
  CHECK(has(mistake(json::array({tensor("w", {1024, 2})})), "ends behind the region"));
  CHECK(has(mistake(json::array({tensor("w", {1}, "f32", "averaged", 4096)})), "ends behind"));
  CHECK(has(mistake(json::array({tensor("w", {4096, 4096, 4096, 4096, 4096, 4096})})),
            "more numbers than the region"));
  CHECK(has(mistake(json::array({tensor("", {4})})), "name"));
  CHECK(has(mistake(json::array({7})), "not an object"));
  CHECK(has(mistake(json::array({tensor("w", {4}, "f32", "local")})), "no tensor"));
  json fraction = tensor("w", {4});
  fraction["shape"] = {2.5};
  CHECK(has(mistake(json::array({fraction})), "whole number"));
  fraction["shape"] = {-4};
  CHECK(has(mistake(json::array({fraction})), "whole number"));
}

TEST_CASE("A table of a million tensors is refused") {
  std::string text = "[0";
  for (int k = 0; k < 1'000'000; ++k) text += ",0";
  const auto parsed = TensorTable::parse(text + "]", kRegion);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(has(parsed.error().text, "expected at most 65536"));
}

// What the parsers take in stays inside the region, and they neither throw nor crash.
TEST_CASE("Broken tables and records are refused or harmless") {
  Prng prng(20261122);
  const std::string table = kGood.dump();
  const std::string hello =
      R"({"kind":"hello","version":1,"mode":"loop","samples":3,"segment":4096,)"
      R"("table":{"offset":64,"bytes":9}})";
  const std::string done = R"({"kind":"done","job":3,"loss":1e-3,"samples":64,"refusal":"x"})";
  const auto broken = [&prng](std::string text) {
    for (std::uint64_t cuts = 1 + prng.below(3); cuts > 0; --cuts) {
      const std::size_t at = prng.below(text.size());
      if (prng.chance(0.3))
        text.erase(at, 1 + prng.below(4));
      else if (prng.chance(0.5))
        text[at] = static_cast<char>(prng.below(256));
      else
        text.insert(at, prng.chance(0.5) ? "99999999999999999999" : "[[{");
      if (text.empty()) text = "0";
    }
    return text;
  };
  const int count = test::full_or(100'000, 5'000);
  for (int k = 0; k < count; ++k) {
    if (const auto parsed = TensorTable::parse(broken(table), kRegion))
      for (const TrainerTensor& tensor : parsed->tensors())
        REQUIRE(tensor.offset + tensor.bytes() <= kRegion);
    static_cast<void>(read_record(broken(k % 2 ? hello : done)));
  }
}
