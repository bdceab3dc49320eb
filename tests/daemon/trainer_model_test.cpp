#include "daemon/attach/trainer_model.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

constexpr const char* kTable =
    R"([{"name":"w","shape":[2],"dtype":"f32","role":"averaged","offset":0},)"
    R"({"name":"half","shape":[1],"dtype":"bf16","role":"averaged","offset":64},)"
    R"({"name":"mine","shape":[3],"dtype":"f32","role":"local","offset":128},)"
    R"({"name":"count","shape":[],"dtype":"i64","role":"donor","offset":192},)"
    R"({"name":"starling.position","shape":[1],"dtype":"i64","role":"donor","offset":320},)"
    R"({"name":"mean","shape":[1,1],"dtype":"f64","role":"statistic","offset":256},)"
    R"({"name":"steps","shape":[],"dtype":"i64","role":"donor","offset":384}])";

struct File {
  explicit File(const std::string& text) {
    std::uint64_t size = 0;
    std::memcpy(&size, text.data(), sizeof(size));
    header = json::parse(text.substr(sizeof(size), size));
    bytes = text.substr(sizeof(size) + size);
  }
  template <class T>
  std::vector<T> numbers(const char* name) const {
    const std::size_t begin = header[name]["data_offsets"][0],
                      end = header[name]["data_offsets"][1];
    REQUIRE(end <= bytes.size());
    std::vector<T> values((end - begin) / sizeof(T));
    std::memcpy(values.data(), bytes.data() + begin, end - begin);
    return values;
  }

  json header;
  std::string bytes;
};

}  // namespace

TEST_CASE("The file of a trainer's model has its names and shapes and types and counters") {
  const auto table = TensorTable::parse(kTable, 1024);
  REQUIRE(table.has_value());
  const std::array<std::int64_t, 3> counts = {42, 7, 43};
  const auto donated = std::as_bytes(std::span(counts));
  const std::vector<double> x = {1.5, -2, 3, 0.25};
  const File file(trainer_model(*table, donated, x, {{"node", "n0"}}));
  CHECK(file.header["__metadata__"]["node"] == "n0");
  CHECK_FALSE(file.header.contains("mine"));
  CHECK_FALSE(file.header.contains("starling.position"));
  CHECK(file.numbers<std::int64_t>("steps") == std::vector<std::int64_t>{43});
  CHECK(file.header["w"]["dtype"] == "F32");
  CHECK(file.numbers<float>("w") == std::vector<float>{1.5, -2});
  CHECK(file.header["half"]["dtype"] == "BF16");
  CHECK(file.numbers<std::uint16_t>("half") == std::vector<std::uint16_t>{0x4040});
  CHECK(file.header["count"]["dtype"] == "I64");
  CHECK(file.header["count"]["shape"] == json::array());
  CHECK(file.numbers<std::int64_t>("count") == std::vector<std::int64_t>{42});
  CHECK(file.header["mean"]["shape"] == json{1, 1});
  CHECK(file.numbers<double>("mean") == std::vector<double>{0.25});
}

TEST_CASE("Counters that are not known are not in the file") {
  const auto table = TensorTable::parse(kTable, 1024);
  REQUIRE(table.has_value());
  const std::vector<double> x = {1.5, -2, 3, 0.25};
  const File file(trainer_model(*table, {}, x, {}));
  CHECK_FALSE(file.header.contains("count"));
  CHECK(file.numbers<double>("mean") == std::vector<double>{0.25});
}
