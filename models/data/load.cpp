#include "models/data/load.h"

#include "models/data/csv.h"
#include "models/data/subset.h"

namespace starling::models {
namespace {

// Leaves out the entries of columns beyond these.
void cut(SparseFeatures& sparse, std::size_t columns) {
  std::size_t kept = 0, entry = 0;
  for (std::size_t row = 1; row < sparse.row_start.size(); ++row) {
    for (; entry < sparse.row_start[row]; ++entry) {
      if (sparse.column[entry] >= columns) continue;
      sparse.column[kept] = sparse.column[entry];
      sparse.value[kept++] = sparse.value[entry];
    }
    sparse.row_start[row] = static_cast<std::uint32_t>(kept);
  }
}

}  // namespace

Result<Data> load(const DataOptions& options) {
  switch (options.source) {
    case Source::digits:
      return draw_digits(options.samples, options.seed);
    case Source::houses:
      return draw_houses(options.samples, options.seed);
    case Source::reference:
      return make_reference(options.reference);
    case Source::idx:
      return read_idx(options.path, options.test_path);
    case Source::csv:
      return read_csv(options);
    case Source::libsvm:
      return read_libsvm(options);
  }
  return fail("data.source: unknown");
}

Result<Dataset> reread(const DataOptions& options, std::uint64_t train_hash,
                       const std::vector<std::uint32_t>& rows) {
  const bool is_idx = options.source == Source::idx;
  TRY(Data data, is_idx ? reread_idx(options.path, rows) : load(options));
  if (data.train_hash != train_hash)
    return fail("{}: has changed since this node read it first", options.path);
  if (is_idx) return std::move(data.train);
  return subset(data.train, rows);
}

Result<Dataset> load_shown(DataOptions options, std::size_t columns) {
  if (options.source == Source::idx) return read_idx_held_out(options.path);
  if (options.source == Source::libsvm) options.holdout = 0;  // the file is what was asked for
  TRY(Data data, load(options));
  Dataset rows = std::move(data.test.rows > 0 ? data.test : data.train);
  if (auto* sparse = std::get_if<SparseFeatures>(&rows.features)) {
    cut(*sparse, columns);
    rows.columns = columns;
  }
  return rows;
}

}  // namespace starling::models
