#include "models/data/dealt_file.h"

#include <bit>
#include <cmath>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

// The hashes of all words of the file, by slot.
std::vector<std::vector<std::uint64_t>> hashes_of(const TableFeatures& table) {
  std::vector<std::vector<std::uint64_t>> hashes;
  for (const auto& words : table.words) {
    auto& slot = hashes.emplace_back();
    for (const std::string& word : words) slot.push_back(stable_hash(word));
  }
  return hashes;
}

std::uint64_t hash_of(double number) {
  // NaN is a missing cell and has many forms; 0 and -0 are one number.
  return std::isnan(number) ? 1 : std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);
}

std::uint64_t hash_of_target(const Dataset& train, std::size_t row) {
  if (train.classes == 0) return hash_of(train.targets[row]);
  return stable_hash(train.class_names[static_cast<std::size_t>(train.labels[row])]);
}

std::uint64_t hash_of(const Dataset& train, const TableFeatures& table) {
  const auto words = hashes_of(table);
  std::vector<std::uint64_t> names;
  for (const auto& column : table.columns) names.push_back(stable_hash(column.name));
  std::uint64_t hash = 0;
  for (std::size_t row = 0; row < train.rows; ++row) {
    std::uint64_t sum = mix64(hash_of_target(train, row));
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const auto& [name, kind, slot] = table.columns[c];
      const std::uint64_t cell = kind == ColumnKind::words
                                     ? words[slot][table.codes[row * table.words.size() + slot]]
                                     : hash_of(table.numbers[row * table.number_columns + slot]);
      sum += mix64(names[c] ^ mix64(cell));
    }
    hash = mix64(hash ^ sum);
  }
  return hash;
}

}  // namespace

std::optional<DealtFile> dealt_file(const Dataset& train, const DataOptions& options) {
  const auto* table = std::get_if<TableFeatures>(&train.features);
  if (!table || options.shard.kind != ShardChoice::Kind::automatic) return std::nullopt;
  return DealtFile{.rows = train.rows, .hash = hash_of(train, *table)};
}

std::string difference(const PlacedFile& one, const PlacedFile& two) {
  const std::string seen =
      one.file.rows == two.file.rows
          ? fmt::format("the {} rows to train on {} are not those {}, or have another order",
                        with_commas(one.file.rows), one.where, two.where)
          : fmt::format("the file {} has {} rows to train on, the file {} {}", one.where,
                        with_commas(one.file.rows), two.where, with_commas(two.file.rows));
  return fmt::format(
      "{}; data.shard = auto deals out one file that all nodes have: set data.shard = all at all "
      "nodes if each has a file of its own, or give all nodes the same file",
      seen);
}

}  // namespace starling::models
