// FleetNotices: what the nodes of a fleet warn of, each text once for all nodes that say it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "daemon/process/notices.h"

namespace starling::daemon {

// "node-0, node-1 and node-2"; of many the first ones, and how many more.
std::string enumerate(std::span<const std::string> names);

class FleetNotices {
 public:
  // What the node says now.
  void hear(Time now, const std::string& node, std::span<const std::string> texts);
  // What has not been told of a node: "node-1 and node-2: no trainer is attached". The first node
  // that says a text is told at once, those that follow together, once in kGatherFor; at the end of
  // a run all at once. Texts that differ in measured numbers are told as the first of them.
  std::vector<std::string> take_due(Time now);
  std::vector<std::string> take_all();

  // Longer: nodes that follow are told later. Shorter: a line for each of them.
  static constexpr Duration kGatherFor = std::chrono::seconds(2);

 private:
  struct Pending {
    std::string key, text;
    std::vector<std::string> nodes;
  };

  std::map<std::string, Notices> by_node_;
  std::map<std::string, Time> told_;  // by key, when last
  std::vector<Pending> pending_;
};

}  // namespace starling::daemon
