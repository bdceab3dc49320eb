#include "daemon/process/background_reader.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "models/data/load.h"
#include "models/data/subset.h"

using namespace starling;
using namespace starling::daemon;

namespace {

Result<models::Dataset> await(models::RowReader& reader) {
  while (true) {
    if (auto rows = reader.take()) return *std::move(rows);
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("Of several requests the rows of the last are read and taken once") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("starling-background-" + std::to_string(::getpid()) + ".svm");
  std::ofstream file(path);
  for (int row = 0; row < 200; ++row) file << row % 2 << " 1:" << row << "\n";
  file.close();
  const models::DataOptions options{
      .source = models::Source::libsvm, .path = path.string(), .holdout = 0};
  const models::Data data = *models::load(options);
  const auto reader = make_reader(options, data);
  REQUIRE(reader);
  CHECK_FALSE(reader->take());
  for (std::uint32_t row = 0; row < 100; ++row) reader->request({row, row + 100});
  const auto rows = await(*reader);
  REQUIRE(rows);
  CHECK(std::get<models::SparseFeatures>(rows->features).value == std::vector<float>{99, 199});
  CHECK_FALSE(reader->take());
  std::filesystem::remove(path);
  reader->request({5});
  CHECK_FALSE(await(*reader));
}

TEST_CASE("Data that are drawn are not read again") {
  const models::DataOptions options{.samples = 10};
  CHECK_FALSE(make_reader(options, *models::load(options)));
}
