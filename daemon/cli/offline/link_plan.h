// LinkPlan: how long a round takes on links of a bandwidth, and the gain of other ways to exchange.
// With step s (time of a local step), P bytes of a vector, B bytes/s each way and d neighbours:
//   dpsgd            s + d P / B            computes, then exchanges with every neighbour
//   dpsgd, t steps   t s + d P / B          exchanges once in t = optim.local-steps steps
//   dpsgd-pipelined  max(s, d P / B)        computes while vectors travel
//   allreduce        s + a P / B            dpsgd on a complete graph, a vectors a round as in
//                                           traffic_plan.h
//   adpsgd           max(s, P / B)          one exchange a step, under way during the next one
//   codec = C        s + d Q / B            dpsgd with vectors of Q bytes; ed, which sends as much,
//                                           where dpsgd does not go with the codec
// Round trips, headers (5 %) and the averaging are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace starling::daemon {

struct LinkOptions {
  double bytes_per_s = 0, step_s = 0, vector_bytes = 0;  // above 0
  std::vector<std::pair<std::string, double>> codecs;    // that get a row, and bytes of a vector
  int neighbors = 0;                                     // of the node that has the most
  std::optional<double> in_slices = {};  // vectors that it sends in allreduce, if that is legal
};

struct RoundTime {
  std::string way;       // as a configuration says it: "dpsgd", "local-steps = 8"
  double round_s = 0;    // of `steps` local steps
  double computing = 0;  // share of the time, 0 to 1
  double steps_per_s = 0;
  double gain = 1;  // of steps_per_s over that of dpsgd
  std::int64_t steps = 1;
};

// dpsgd first. The last is dpsgd with the fewest local steps with which a node computes nine tenths
// of its time, if more than the eight of the previous row.
std::vector<RoundTime> plan_rounds(const LinkOptions& options);
// A table for people.
std::string to_lines(const std::vector<RoundTime>& rounds);

}  // namespace starling::daemon
