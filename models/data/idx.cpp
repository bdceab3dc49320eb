// idx: the format of the MNIST family. Big-endian: 0 0 8 (unsigned bytes), the number of
// dimensions, each dimension in 4 bytes, then the bytes themselves.
#include "models/data/load.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>

#include "base/content_hash.h"
#include "base/prng.h"
#include "base/text.h"
#include "models/data/gz_file.h"

namespace starling::models {
namespace {

using RowIndices = std::vector<std::uint32_t>;

constexpr std::size_t kIdxClasses = 10;              // labels are 0 to 9
constexpr std::size_t kIdxImagesLimit = 10'000'000;  // of one file
constexpr std::size_t kReservedBytesLimit = std::size_t{64} << 20;

// The file in a folder or after a prefix, with or without .gz; if none exists, the plain name in
// the folder, for the error.
std::string locate(const std::string& path, const char* name) {
  std::error_code error;
  const std::string within = (std::filesystem::path(path) / name).string();
  for (const std::string& plain : {within, path + name})
    for (const std::string& file : {plain, plain + ".gz"})
      if (std::filesystem::is_regular_file(file, error)) return file;
  return within;
}

Result<void> read_exactly(GzFile& file, std::span<std::uint8_t> out, const char* what) {
  TRY(const std::size_t got, file.read(std::as_writable_bytes(out)));
  if (got != out.size())
    return fail("{}: {} of {} bytes of {}; the file is cut short", file.path(), got, out.size(),
                what);
  return {};
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// Checks every size of the header before anything of that size is allocated.
Result<std::vector<std::size_t>> read_header(GzFile& file, std::size_t rank) {
  std::array<std::uint8_t, 4> word{};
  TRY_DO(read_exactly(file, word, "header"));
  const std::uint32_t expected = 0x800 + static_cast<std::uint32_t>(rank);
  if (big_endian(word) != expected)
    return fail("{}: magic {:#010x}, expected {:#010x} (bytes, {} dimensions)", file.path(),
                big_endian(word), expected, rank);
  std::vector<std::size_t> dimensions;
  for (std::size_t i = 0; i < rank; ++i) {
    TRY_DO(read_exactly(file, word, "header"));
    const std::size_t size = big_endian(word);
    const std::size_t limit = i == 0 ? kIdxImagesLimit : kImageSideLimit;
    if (size < 1 || size > limit)
      return fail("{}: dimension {} is {}, expected 1 to {}", file.path(), i, size, limit);
    dimensions.push_back(size);
  }
  return dimensions;
}

// Gives the bytes of one row after another to `take`, and how many rows the header names; returns
// the dimensions.
Result<std::vector<std::size_t>> read_each_row(const std::string& path, std::size_t rank,
                                               auto take) {
  TRY(GzFile file, GzFile::open(path));
  TRY(std::vector<std::size_t> dimensions, read_header(file, rank));
  std::vector<std::uint8_t> row(std::accumulate(dimensions.begin() + 1, dimensions.end(),
                                                std::size_t{1}, std::multiplies<>()));
  for (std::size_t i = 0; i < dimensions[0]; ++i) {
    TRY_DO(read_exactly(file, row, "values"));
    take(row, dimensions[0]);
  }
  std::byte extra{};
  TRY(const std::size_t left, file.read(std::span(&extra, 1)));
  if (left > 0)
    return fail("{}: bytes after the {} that its header names", path, dimensions[0] * row.size());
  return dimensions;
}

// Goes through all rows and takes some.
class RowTaker {
 public:
  // Ascending; null: all.
  explicit RowTaker(const RowIndices* rows) : rows_(rows) {}

  // Whether the next row is taken.
  bool next() {
    const std::size_t row = row_++;
    if (!rows_) return true;
    if (place_ == rows_->size() || (*rows_)[place_] != row) return false;
    return ++place_, true;
  }

 private:
  const RowIndices* rows_;
  std::size_t row_ = 0, place_ = 0;
};

struct Pair {
  Dataset set;
  std::uint64_t hash = 0;  // of all rows
};

Result<Pair> read_pair(const std::string& images_path, const std::string& labels_path,
                       const RowIndices* rows = nullptr) {
  Pair pair;
  const auto add_to_hash = [&](const std::vector<std::uint8_t>& row) {
    pair.hash = mix64(pair.hash ^ content_hash(std::as_bytes(std::span(row))));
  };
  ByteFeatures images;
  const auto take_image = [&, taker = RowTaker(rows)](const auto& row, std::size_t named) mutable {
    // Not more than some at once, so that a header with false sizes costs no memory.
    if (images.values.capacity() == 0)
      images.values.reserve(
          std::min((rows ? rows->size() : named) * row.size(), kReservedBytesLimit));
    add_to_hash(row);
    if (taker.next()) images.values.insert(images.values.end(), row.begin(), row.end());
  };
  Dataset& set = pair.set;
  std::size_t count = 0;
  std::optional<std::string> problem;
  const auto take_label = [&, taker = RowTaker(rows)](const auto& row, std::size_t) mutable {
    add_to_hash(row);
    if (row[0] >= kIdxClasses && !problem)
      problem = fmt::format("{}: label {} of sample {}, expected 0 to {}", labels_path, row[0],
                            count, kIdxClasses - 1);
    ++count;
    if (taker.next()) set.labels.push_back(row[0]);
  };
  TRY(const auto shape, read_each_row(images_path, 3, take_image));
  TRY_DO(read_each_row(labels_path, 1, take_label));
  if (count != shape[0])
    return fail("{}: {} labels, expected one for each of the {} images of {}", labels_path, count,
                shape[0], images_path);
  if (problem) return fail("{}", *problem);
  images.values.shrink_to_fit();
  set.features = std::move(images);
  set.rows = set.labels.size();
  set.image = ImageShape{.height = shape[1], .width = shape[2]};
  set.columns = set.image->size();
  set.classes = kIdxClasses;
  return pair;
}

Result<Pair> read_training_pair(const std::string& path, const RowIndices* rows = nullptr) {
  return read_pair(locate(path, "train-images-idx3-ubyte"), locate(path, "train-labels-idx1-ubyte"),
                   rows);
}

}  // namespace

Result<Data> read_idx(const std::string& path, const std::string& test_path) {
  Data data;
  TRY(Pair pair, read_training_pair(path));
  data.train = std::move(pair.set);
  data.train_hash = pair.hash;
  const std::string images = locate(test_path.empty() ? path : test_path, "t10k-images-idx3-ubyte");
  const std::string labels = locate(test_path.empty() ? path : test_path, "t10k-labels-idx1-ubyte");
  std::error_code error;
  if (!test_path.empty() || std::filesystem::exists(images, error)) {
    TRY(pair, read_pair(images, labels));
    data.test = std::move(pair.set);
    if (data.test.image != data.train.image)
      return fail("{}: images of {} x {} pixels, expected {} x {} as in {}", images,
                  data.test.image->height, data.test.image->width, data.train.image->height,
                  data.train.image->width, path);
  } else {
    data.notes.push_back(fmt::format("{}: not there, so nothing is held out", images));
  }
  data.description = fmt::format("idx: {} images of {} pixels, {} held out, {} classes",
                                 with_commas(data.train.rows), data.train.columns,
                                 with_commas(data.test.rows), kIdxClasses);
  return data;
}

Result<Dataset> read_idx_held_out(const std::string& path) {
  const std::string images = locate(path, "t10k-images-idx3-ubyte");
  std::error_code error;
  const bool is_there = std::filesystem::exists(images, error);
  TRY(Pair pair, is_there ? read_pair(images, locate(path, "t10k-labels-idx1-ubyte"))
                          : read_training_pair(path));
  return std::move(pair.set);
}

Result<Data> reread_idx(const std::string& path, const RowIndices& rows) {
  TRY(Pair pair, read_training_pair(path, &rows));
  Data data;
  data.train = std::move(pair.set);
  data.train_hash = pair.hash;
  return data;
}

}  // namespace starling::models
