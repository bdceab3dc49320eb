// Sites: the data that planned nodes begin with. Each has a file of its own where data.path names
// one for each by {i}: site-{i}.csv is site-0.csv for node-0, and so on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/learner.h"

namespace starling::daemon {

// Whether each node has a file of its own.
bool has_sites(const models::DataOptions& options);

// Of node `index`.
models::DataOptions site_options(models::DataOptions options, std::size_t index);

struct Sites {
  std::string description;                    // of the data of all
  std::vector<std::string> notes;             // what becomes of them that a reader would not expect
  std::shared_ptr<const models::Data> first;  // of node-0
};

// Loads what each of `nodes` nodes would. The error says what is wrong with which file, or which
// two do not go together.
Result<Sites> look_at_sites(const models::DataOptions& options, std::size_t nodes);

}  // namespace starling::daemon
