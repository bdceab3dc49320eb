// fleet_scores: what the models of all sites with other columns say of rows, asked over REST.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "daemon/cli/ask/node_access.h"
#include "models/keyed_scores.h"
#include "models/predictor.h"

namespace starling::daemon {

struct FleetScores {
  std::vector<models::KeyedScores> of_sites;
  std::vector<std::string> sites;  // that began together
  models::OutputForm form;         // how their sum reads
  std::vector<std::string> notes;  // why a member told nothing
};

// The column that names a row in this fleet; the error says that its sites do not have other
// columns.
Outcome<std::string> key_of_fleet(const NodeAccess& access);

// Asks every living member. The error names those whose address is not known here, or says that the
// site with the target does not answer.
Outcome<FleetScores> ask_for_scores(const NodeAccess& access, std::span<const std::string> keys);

}  // namespace starling::daemon
