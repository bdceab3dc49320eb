#include "models/data/load.h"

#include <zlib.h>

#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

std::string word(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 255);
  return bytes;
}

std::string images(std::uint32_t count, std::uint32_t side) {
  return word(0x803) + word(count) + word(side) + word(side) +
         std::string(std::size_t{count} * side * side, '\x7F');
}

std::string labels(const std::string& values) {
  return word(0x801) + word(static_cast<std::uint32_t>(values.size())) + values;
}

const std::string kThree("\0\x01\x09", 3);

Result<Data> read(const std::string& image_bytes, const std::string& label_bytes) {
  const Folder folder("idx");
  folder.write("train-images-idx3-ubyte", image_bytes);
  folder.write("train-labels-idx1-ubyte", label_bytes);
  return read_idx(folder.path(), "");
}

}  // namespace

TEST_CASE("An idx pair without a test pair holds nothing out and says so") {
  const Data data = value_of(read(images(3, 4), labels(kThree)));
  CHECK(data.train.rows == 3);
  CHECK(data.train.columns == 16);
  CHECK(data.train.image == ImageShape{.height = 4, .width = 4, .channels = 1});
  CHECK(data.train.labels == std::vector<std::int32_t>{0, 1, 9});
  CHECK(data.test.rows == 0);
  CHECK(data.notes.size() == 1);
}

TEST_CASE("A damaged idx file is an error of one line") {
  const std::string good = images(3, 4);
  const std::string good_labels = labels(kThree);
  for (std::size_t length = 0; length < good.size(); length += 5) {
    const auto result = read(good.substr(0, length), good_labels);
    REQUIRE(!result);
    CHECK(result.error().text.find('\n') == std::string::npos);
  }
  CHECK_FALSE(read(good, good_labels.substr(0, 9)));
  CHECK_FALSE(read(good + "x", good_labels));
  CHECK_FALSE(read(word(0x802) + good.substr(4), good_labels));
  CHECK_FALSE(read(good, labels(std::string("\0\x01", 2))));
  CHECK_FALSE(read(good, labels(std::string("\0\x01\x0A", 3))));
  CHECK_FALSE(read(word(0x803) + word(0xFFFFFFFF) + word(28) + word(28), good_labels));
  CHECK_FALSE(read(word(0x803) + word(3) + word(0xFFFF) + word(0xFFFF), good_labels));
  CHECK_FALSE(read(word(0x803) + word(0) + word(4) + word(4), labels("")));
  CHECK_FALSE(read(word(0x803) + word(9'999'999) + word(1024) + word(1024), good_labels));
  CHECK_FALSE(read_idx("/nowhere/at/all", ""));
}

TEST_CASE("Random damage to a header gives an error or valid images") {
  const std::string good = images(3, 4);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto result = read(damaged(good.substr(0, 16), seed) + good.substr(16), labels(kThree));
    if (result) CHECK(result->train.rows == 3);
  }
}

TEST_CASE("A label out of range is named with its place and what is allowed") {
  const auto result = read(images(3, 4), labels(std::string("\0\x01\xC8", 3)));
  REQUIRE(!result);
  CHECK(result.error().text.ends_with("label 200 of sample 2, expected 0 to 9"));
}

TEST_CASE("A gzip file that breaks off is an error") {
  const Folder folder("gzip");
  const std::string plain = images(3, 4);
  const std::string path = folder.path() + "/train-images-idx3-ubyte.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, plain.data(), static_cast<unsigned>(plain.size()));
  gzclose(file);
  folder.write("train-labels-idx1-ubyte", labels(kThree));
  CHECK(read_idx(folder.path(), ""));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 12);
  CHECK_FALSE(read_idx(folder.path(), ""));
}

TEST_CASE("MNIST has 60000 images to train and 10000 to test") {
  const std::string path = real_data("mnist");
  if (path.empty()) return;
  const Data data = value_of(read_idx(path, ""));
  CHECK(data.train.rows == 60'000);
  CHECK(data.test.rows == 10'000);
  CHECK(data.train.columns == 784);
}
