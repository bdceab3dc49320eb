#include "models/data/row_hashes.h"

#include <bit>
#include <cmath>
#include <string>
#include <variant>

#include "base/ids.h"
#include "base/prng.h"

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

std::uint64_t hash_of_target(const Dataset& set, std::size_t row) {
  if (!set.has_truth()) return 0;
  if (set.classes == 0) return hash_of(set.targets[row]);
  return stable_hash(set.class_names[static_cast<std::size_t>(set.labels[row])]);
}

}  // namespace

std::vector<std::uint64_t> row_hashes(const Dataset& set) {
  const auto& table = std::get<TableFeatures>(set.features);
  const auto words = hashes_of(table);
  std::vector<std::uint64_t> names;
  for (const auto& column : table.columns) names.push_back(stable_hash(column.name));
  std::vector<std::uint64_t> hashes;
  for (std::size_t row = 0; row < set.rows; ++row) {
    std::uint64_t sum = mix64(hash_of_target(set, row));
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::size_t slot = table.columns[c].slot;
      const std::uint64_t cell = table.columns[c].content == Content::words
                                     ? words[slot][table.codes[row * table.words.size() + slot]]
                                     : hash_of(table.numbers[row * table.number_columns + slot]);
      sum += mix64(names[c] ^ mix64(cell));
    }
    hashes.push_back(sum);
  }
  return hashes;
}

std::uint64_t hash_in_order(const std::vector<std::uint64_t>& rows) {
  std::uint64_t hash = 0;
  for (const std::uint64_t row : rows) hash = mix64(hash ^ row);
  return hash;
}

}  // namespace starling::models
