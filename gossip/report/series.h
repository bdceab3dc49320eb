// Series: the convergence of the whole network by round, from the progress that each node reports.
// A long series is thinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/thinned.h"
#include "base/time.h"
#include "gossip/io.h"

namespace starling::gossip {

// One round, over the nodes that completed it: means of losses, accuracy, error and bytes, root
// mean squares of both distances. A value that no node reported is empty.
struct SeriesPoint {
  std::uint64_t round = 0;
  double time_s = 0;  // when the last of these nodes completed the round
  std::optional<double> loss = {}, held_out_loss = {}, accuracy = {}, rmse = {}, distance = {},
                        distance_to_optimum = {};
  std::optional<double> bytes = {};  // of vectors that a node has sent since the start
};

class Series {
 public:
  void add(Time now, const Progress& progress);
  std::vector<SeriesPoint> points() const;

 private:
  struct Sum {
    double total = 0;
    std::size_t count = 0;

    void add(std::optional<double> value);
    void add_square(std::optional<double> value);
    std::optional<double> mean() const;
    std::optional<double> root_mean() const;
  };
  struct Round {
    std::uint64_t round = 0;
    Time last{};
    Sum loss = {}, held_out_loss = {}, accuracy = {}, rmse = {}, bytes = {}, squared_distance = {},
        squared_distance_to_optimum = {};

    bool is_evaluated() const {
      return held_out_loss.count > 0 || accuracy.count > 0 || rmse.count > 0;
    }
  };

  static void add_to(Round& round, Time now, const Progress& progress);
  static SeriesPoint point(const Round& round);

  Thinned<Round> rounds_;
};

}  // namespace starling::gossip
