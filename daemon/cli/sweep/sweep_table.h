// SweepTable: what came of the runs of a sweep, compared at equal time and at equal bytes.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/moments.h"
#include "daemon/cli/sweep/grid.h"
#include "daemon/cli/sweep/sweep_runs.h"

namespace starling::daemon {

// The loss of one run. It is that on held-out samples where the run has any, else that of training.
struct SweepCurve {
  struct Point {
    double time_s = 0, bytes = 0;  // since the start; bytes of a node
    double loss = 0;
  };
  std::vector<Point> points = {};
  bool is_held_out = false;
};
// Of the document of `starling simulate` or `starling up`.
SweepCurve curve_of(const nlohmann::json& document);

// A point of the grid, over its seeds.
struct SweepRow {
  std::size_t point = 0;
  std::optional<Moments> at_time = {}, at_bytes = {}, at_end = {};  // losses
  double time_s = 0, bytes = 0;                                     // at the end, mean
  std::string problem = {};  // of a run that failed; empty: none
  std::vector<SweepCurve> curves = {};
};

struct SweepTable {
  double time_s = 0, bytes = 0;  // the least that any run took and sent a node
  bool is_held_out = false;
  std::vector<SweepRow> rows = {};  // by the loss at equal time, those without it last
  // The best row by each; null: no run has a loss.
  const SweepRow* best_by_time() const;
  const SweepRow* best_by_bytes() const;
};
SweepTable table_of(std::span<const SweepRun> runs, std::size_t points);

std::string text_of(const SweepTable& table, std::span<const GridPoint> points);
nlohmann::ordered_json json_of(const SweepTable& table, std::span<const GridPoint> points);

}  // namespace starling::daemon
