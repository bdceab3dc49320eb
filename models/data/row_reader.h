// RowReader: reads rows of a training set again, in the background, so that a node that trains
// keeps only the rows that are its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "models/data/dataset.h"

namespace starling::models {

class RowReader {
 public:
  virtual ~RowReader() = default;

  // Starts to read these rows, ascending, in place of any that were asked for before. Returns at
  // once.
  virtual void request(std::vector<std::uint32_t> rows) = 0;
  // The rows of the last request, once; nothing until they are read.
  virtual std::optional<Result<Dataset>> take() = 0;
  // Much memory was freed.
  virtual void freed() {}
};

}  // namespace starling::models
