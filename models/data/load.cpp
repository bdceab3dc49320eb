#include "models/data/load.h"

#include "models/data/csv.h"
#include "models/data/subset.h"

namespace starling::models {

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

}  // namespace starling::models
