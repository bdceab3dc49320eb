// load: from options to data, whatever the source.
#pragma once

#include "base/result.h"
#include "models/data/data_options.h"
#include "models/data/dataset.h"

namespace starling::models {

// Draws or reads the whole data set. Files are outside data: an error is one line with the file,
// the place in it, the value seen and the values allowed.
Result<Data> load(const DataOptions& options);

}  // namespace starling::models
