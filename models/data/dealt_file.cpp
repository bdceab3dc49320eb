#include "models/data/dealt_file.h"

#include "base/text.h"

namespace starling::models {

std::optional<DealtFile> dealt_file(const Data& data, const DataOptions& options) {
  const bool is_dealt = options.shard.kind == ShardChoice::Kind::automatic;
  if (!data.train.is_table() || !is_dealt) return std::nullopt;
  return DealtFile{.rows = data.train.rows, .hash = data.train_hash};
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
