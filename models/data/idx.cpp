// idx: the format of the MNIST family. Big-endian: 0 0 8 (unsigned bytes), the number of
// dimensions, each dimension in 4 bytes, then the bytes themselves.
#include "models/data/load.h"

#include <array>
#include <filesystem>
#include <numeric>
#include <span>

#include "base/text.h"
#include "models/data/gz_file.h"

namespace starling::models {
namespace {

constexpr std::size_t kIdxClasses = 10;              // labels are 0 to 9
constexpr std::size_t kIdxImagesLimit = 10'000'000;  // of one file

struct Idx {
  std::vector<std::size_t> dimensions;
  std::vector<std::uint8_t> values;
};

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

Result<Idx> read_file(const std::string& path, std::size_t rank) {
  TRY(GzFile file, GzFile::open(path));
  Idx idx;
  TRY(idx.dimensions, read_header(file, rank));
  const std::size_t rest = std::accumulate(idx.dimensions.begin() + 1, idx.dimensions.end(),
                                           std::size_t{1}, std::multiplies<>());
  // A piece at a time, so that a header with false sizes costs no memory.
  constexpr std::size_t kPieceBytes = std::size_t{64} << 20;
  const std::size_t total = idx.dimensions[0] * rest;
  while (idx.values.size() < total) {
    const std::size_t before = idx.values.size();
    idx.values.resize(std::min(total, before + kPieceBytes));
    TRY_DO(read_exactly(file, std::span(idx.values).subspan(before), "values"));
  }
  std::byte extra{};
  TRY(const std::size_t left, file.read(std::span(&extra, 1)));
  if (left > 0) return fail("{}: bytes after the {} that its header names", path, total);
  return idx;
}

Result<Dataset> read_pair(const std::string& images_path, const std::string& labels_path) {
  TRY(Idx images, read_file(images_path, 3));
  TRY(Idx labels, read_file(labels_path, 1));
  const std::size_t rows = images.dimensions[0];
  if (labels.dimensions[0] != rows)
    return fail("{}: {} labels, expected one for each of the {} images of {}", labels_path,
                labels.dimensions[0], rows, images_path);
  Dataset set;
  set.features = ByteFeatures{.values = std::move(images.values)};
  set.rows = rows;
  set.image = ImageShape{.height = images.dimensions[1], .width = images.dimensions[2]};
  set.columns = set.image->size();
  set.classes = kIdxClasses;
  set.labels.reserve(rows);
  for (const std::uint8_t label : labels.values) {
    if (label >= kIdxClasses)
      return fail("{}: label {} of sample {}, expected 0 to {}", labels_path, label,
                  set.labels.size(), kIdxClasses - 1);
    set.labels.push_back(label);
  }
  return set;
}

}  // namespace

Result<Data> read_idx(const std::string& path, const std::string& test_path) {
  Data data;
  TRY(data.train,
      read_pair(locate(path, "train-images-idx3-ubyte"), locate(path, "train-labels-idx1-ubyte")));
  const std::string images = locate(test_path.empty() ? path : test_path, "t10k-images-idx3-ubyte");
  const std::string labels = locate(test_path.empty() ? path : test_path, "t10k-labels-idx1-ubyte");
  std::error_code error;
  if (!test_path.empty() || std::filesystem::exists(images, error)) {
    TRY(data.test, read_pair(images, labels));
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

}  // namespace starling::models
