// DealtFile: what a node says of a table that is dealt to all nodes (data.shard = auto), so that
// nodes with files of their own notice it before training: each would train on a part of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

struct DealtFile {
  std::size_t rows = 0;    // to train on, of the whole file
  std::uint64_t hash = 0;  // of these rows in their order, whatever the order of the columns

  bool operator==(const DealtFile&) const = default;
};

// Nothing if the node itself says what it holds, or the data set is no table.
std::optional<DealtFile> dealt_file(const Data& data, const DataOptions& options);

// A file, and where it is: "at one node".
struct PlacedFile {
  DealtFile file;
  std::string_view where;
};

// How two files differ, and what to set. REQUIRES that the files differ.
std::string difference(const PlacedFile& one, const PlacedFile& two);

}  // namespace starling::models
