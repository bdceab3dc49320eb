// ClassTally: what an evaluation says of the classes beside accuracy, which says little where one
// of them is rare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/local/local_data.h"

namespace starling::models {

class ClassTally {
 public:
  // `rare`: the class whose recall is wanted, and its name; nothing: none.
  struct Rare {
    std::size_t place = 0;
    std::string name;
  };
  ClassTally(std::size_t classes, std::optional<Rare> rare)
      : classes_(classes), rare_(std::move(rare)) {}

  // The outputs of a network for the rows of these labels: one number a row is that of class 1.
  template <class S>
  void add(std::span<const S> outputs, std::span<const std::int32_t> labels);
  // Fills in the area and the recall.
  void write(optim::Evaluation& evaluation) const;

 private:
  std::size_t classes_;
  std::optional<Rare> rare_;
  std::size_t rare_rows_ = 0, rare_found_ = 0;
  std::vector<double> scores_;  // of two classes: of the second
  std::vector<bool> is_second_;
};

}  // namespace starling::models
