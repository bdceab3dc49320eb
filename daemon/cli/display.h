// Display: how a running fleet and its end look to a person.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gossip/report/summary.h"

namespace starling::daemon {

// One line a node: round, loss, accuracy or error, consensus distance, bytes sent.
std::string node_table(std::span<const gossip::NodeSummary> nodes);
// The table and what came of the run.
std::string summary_text(const gossip::Summary& summary);

// Draws a block of lines over the one drawn before; on something other than a terminal it prints
// only the last line, now and then.
class LiveBlock {
 public:
  LiveBlock();
  void draw(const std::string& block, const std::string& line, double time_s);
  // Removes the block, so that what follows takes its place.
  void clear();

 private:
  bool terminal_;
  std::size_t drawn_lines_ = 0;
  double last_line_s_ = -1e9;
};

}  // namespace starling::daemon
