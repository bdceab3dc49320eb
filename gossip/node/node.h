// Node: one participant, as a pure state machine. It reads no clock, opens no socket and sees no
// parameter: inputs say what happened, outputs say what to do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"
#include "gossip/node/idle_connections.h"
#include "gossip/options.h"
#include "gossip/status.h"

namespace starling::gossip {

class Roster;
struct NodeParts;

class Node {
 public:
  // `before`: this node's earlier life, to resume; null: none.
  Node(const Options& options, Time now, std::shared_ptr<const Checkpoint> before = nullptr);
  ~Node();

  // Handles the input and appends outputs to `out`. Never waits, never throws, whatever the input.
  // REQUIRES that `now` does not go back.
  void step(Time now, Input input, Outputs& out);
  // When to call step(Tick) next; an earlier call is harmless.
  Time deadline() const;
  // The status at `now`. Built anew by every call.
  Status status(Time now) const;
  // Only the estimates of all nodes in it, without building the rest.
  FleetStatus fleet(Time now) const;
  const Roster& members() const;
  // Only the warnings of the status, without building the rest.
  std::vector<std::string> warnings(Time now) const;

 private:
  std::unique_ptr<NodeParts> parts_;
  IdleConnections connections_;
};

}  // namespace starling::gossip
