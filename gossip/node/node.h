// Node: one participant, as a pure state machine. It reads no clock, opens no socket and sees no
// parameter: it is told what happened and says what shall be done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"
#include "gossip/options.h"
#include "gossip/status.h"

namespace starling::gossip {

class Node {
 public:
  Node(const Options& options, Time now);
  ~Node();

  // Appends what is to be done. Never waits, never throws, whatever the input.
  // REQUIRES that `now` does not go back.
  void step(Time now, Input input, Outputs& out);
  // Call step(Tick) at or after this; earlier is harmless.
  Time deadline() const;
  // As of `now`. Built anew by every call.
  Status status(Time now) const;
  // Its warnings alone, at the price of a few edges instead of all members.
  std::vector<std::string> warnings(Time now) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace starling::gossip
