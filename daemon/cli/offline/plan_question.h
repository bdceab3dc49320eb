// Question: what `starling plan` is asked: the nodes, the graph, and what of the rest counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "daemon/cli/offline/codec_plan.h"
#include "daemon/cli/offline/link_plan.h"
#include "daemon/cli/offline/privacy_plan.h"
#include "daemon/cli/offline/traffic_plan.h"
#include "topology/build.h"
#include "topology/options.h"

namespace starling::daemon {

struct Question {
  topology::Options topology;
  std::vector<topology::Site> sites;
  CodecPlan codec;
  TrafficPlan traffic;
  bool may_remember = false;  // the codec, of earlier vectors
  std::optional<std::int64_t> model_bytes;
  bool is_by_columns = false;  // data.split
  std::optional<LinkOptions> link;  // without its vectors and neighbours
  std::optional<PrivacyPlan> privacy;
};

// Of the options and the configuration. The sequence of `traffic` follows from the graph.
Result<Question> read_question(const CommandLine& line);

}  // namespace starling::daemon
