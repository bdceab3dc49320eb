// Evaluation: how well a model does on held-out data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace starling::optim {

// Of the rows of one class: how many there are, and of how many the class is found.
struct Recall {
  std::string name;
  std::size_t rows = 0, found = 0;
};

struct Evaluation {
  std::uint64_t round = 0;
  double loss = 0;
  std::optional<double> accuracy = {};  // fraction, for classification
  std::optional<double> rmse = {};  // root mean square error in units of the target, for regression
  std::size_t samples = 0;          // that it is of; 0: not known
  std::size_t available = 0;        // that it could have been of; 0: not known
  bool is_repeated = false;         // the last one again: nothing was measured since
  // Of a table of two classes: the area under the curve, and of how many pairs of rows it is.
  std::optional<double> area = {};
  double pairs = 0;
  std::optional<Recall> rare = {};  // of the rarest class of a table, where it is rare

  bool is_whole() const { return available > 0 && samples == available; }
};

// A goal of evaluations: the largest loss or the least accuracy; without either it is never
// reached.
struct Target {
  std::optional<double> loss = {}, accuracy = {};

  bool is_reached_by(const Evaluation& evaluation) const {
    return (accuracy && evaluation.accuracy && *evaluation.accuracy >= *accuracy) ||
           (loss && evaluation.loss <= *loss);
  }
};

}  // namespace starling::optim
