// NodeExport: the convergence series and the events of one node, and their export formats.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace starling::daemon {

struct NodeExport {
  std::string name;
  // Start of the training, in seconds since 1970; time_s of the points counts from it.
  double started = 0;
  // The points and the events as /v1/convergence and /v1/events give them; objects.
  std::vector<nlohmann::json> series, events;
};

// Of the three documents of a node, asked for at `now` (seconds since 1970). A document that was
// not requested is null. The error names an invalid document.
Result<NodeExport> read_export(const nlohmann::json& status, const nlohmann::json& convergence,
                               const nlohmann::json& events, double now);

// One header for all nodes, then a line for each point: node, round, time_s, loss, … As RFC 4180
// has it, lines end with CR LF. A missing value is an empty field.
std::string convergence_csv(std::span<const NodeExport> nodes);
// The same of events: node, sequence, time_s, at, kind, text.
std::string events_csv(std::span<const NodeExport> nodes);
// One object a line: a point or an event, with "record" ("convergence" or "event") and "node".
std::string export_jsonl(std::span<const NodeExport> nodes);
// The curves of a node, over rounds, as a file of TensorBoard.
std::string export_tensorboard(const NodeExport& node);

}  // namespace starling::daemon
