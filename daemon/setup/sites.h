// Sites: the initial data of planned nodes. Each has a file of its own if data.path contains {i}:
// site-{i}.csv is site-0.csv for node-0, and so on. data.dictionary may contain it too.
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

// How many of these files there are, from number 0 on.
std::size_t count_sites(const models::DataOptions& options);

struct Sites {
  std::string description;                    // of the data of all
  std::vector<std::string> notes;             // surprising decisions about them
  std::shared_ptr<const models::Data> first;  // of node-0; of columns, of one with the target
};

// Loads the data of each of `nodes` nodes. The error names the invalid file, or the two that do not
// fit together.
Result<Sites> look_at_sites(const models::DataOptions& options, std::size_t nodes);

}  // namespace starling::daemon
