#include "models/data/load.h"

#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

Result<Data> read(const std::string& text, const std::string& test = "") {
  const Folder folder("libsvm");
  DataOptions options{.source = Source::libsvm, .path = folder.write("train", text)};
  if (!test.empty()) options.test_path = folder.write("test", test);
  options.holdout = 0;
  return load(options);
}

}  // namespace

TEST_CASE("Sparse rows stay sparse and labels become classes") {
  const Data data = value_of(read("+1 1:0.5 3:2\n\n-1 2:1\r\n1\n", "-1 7:1\n"));
  CHECK(data.train.rows == 3);
  CHECK(data.train.columns == 7);
  CHECK(data.test.columns == 7);
  CHECK(data.train.classes == 2);
  CHECK(data.train.labels == std::vector<std::int32_t>{1, 0, 1});
  const auto& sparse = std::get<SparseFeatures>(data.train.features);
  CHECK(sparse.row_start == std::vector<std::uint32_t>{0, 2, 3, 3});
  CHECK(sparse.column == std::vector<std::uint32_t>{0, 2, 1});
  CHECK(sparse.value == std::vector<float>{0.5F, 2, 1});
  CHECK(value_of(read("0 1:1\n4 1:1\n")).train.classes == 5);
}

TEST_CASE("Garbage in a libsvm file is an error that names the line") {
  for (const char* line : {"x 1:1", "1 1", "1 0:1", "1 -1:1", "1 1:x", "1 2:1 2:1", "1 2:1 1:1",
                           "1 1:nan", "1 1:inf", "1 99999999999:1", "1 1:1e999", "0.5 1:1",
                           "1000 1:1", "-2 1:1", "nan 1:1", "1 :1", "1 1:"}) {
    const auto result = read("1 1:1\n" + std::string(line) + "\n");
    REQUIRE(!result);
    CHECK(result.error().text.find("line 2: ") != std::string::npos);
  }
  CHECK_FALSE(read(""));
  CHECK_FALSE(read("1\n0\n"));
  CHECK_FALSE(read("-1 1:1\n2 1:1\n"));
}

TEST_CASE("Random damage to sparse rows gives an error or valid rows") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto result = read(damaged("+1 1:0.5 3:2\n-1 2:1\n+1 7:3\n", seed));
    if (result) CHECK(result->train.columns <= kColumnsLimit);
  }
}

TEST_CASE("What is held out is the same for the same seed and about the share asked for") {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += (i % 2 ? "+1 1:" : "-1 1:") + std::to_string(i) + "\n";
  const Folder folder("holdout");
  DataOptions options{.source = Source::libsvm, .path = folder.write("train", text)};
  const Data data = value_of(load(options));
  CHECK(data.train.rows + data.test.rows == 2000);
  CHECK(data.test.rows > 340);
  CHECK(data.test.rows < 460);
  CHECK(value_of(load(options)).test.labels == data.test.labels);
  options.seed = 2;
  CHECK(value_of(load(options)).test.labels != data.test.labels);
}

TEST_CASE("The a9a set is read from gzip and names 122 features") {
  const std::string path = real_data("a9a.gz");
  if (path.empty()) return;
  DataOptions options{.source = Source::libsvm, .path = path, .test_path = real_data("a9a.t.gz")};
  const Data data = value_of(load(options));
  CHECK(data.train.rows == 32'560);
  CHECK(data.test.rows == 16'281);
  CHECK(data.train.columns == 122);
}
