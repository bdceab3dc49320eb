// Timeline: what happened in a run, for a person: when, to whom, what.
#pragma once

#include <string>

#include "sim/faults.h"
#include "sim/world.h"

namespace starling::sim {

class Timeline {
 public:
  // The events of all nodes from now on. REQUIRES that it lives as long as the world runs.
  void watch(World& world);
  void add(Time at, const Fault& fault, bool begins);
  void add(Time at, std::string_view who, std::string_view what);
  // One line an entry, in the order of time: "    12.500 s  node-3    paused for 4 s".
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace starling::sim
