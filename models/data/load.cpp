#include "models/data/load.h"

#include "models/data/csv.h"

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

}  // namespace starling::models
