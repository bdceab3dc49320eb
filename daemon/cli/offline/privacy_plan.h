// PrivacyPlan: the epsilon that the steps of a configuration with optim.noise come to, for each
// planned node, before anything is deployed (optim/privacy/accountant.h). Surveys and evaluations
// are not in it (docs/privacy.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace starling::daemon {

struct PrivacyPlan {
  double clip = 0, noise = 0, delta = 0;  // C, sigma
  std::size_t batch_size = 0;             // 0: all samples
  // The least that a round has; more with optim.local-steps or optim.pace = auto.
  std::uint64_t steps_per_round = 1;
  bool may_take_more = false;
  std::vector<std::size_t> samples;   // of each node, above 0
  std::vector<std::uint64_t> rounds;  // that the answer has a row for, ascending

  // For a node of so many samples, after so many rounds.
  double epsilon(std::size_t samples, std::uint64_t rounds) const;
};

// `samples`: of each of the nodes; nothing: as the data of the configuration are dealt out, which
// are read. The error says what makes the configuration promise nothing.
Result<PrivacyPlan> read_privacy_plan(const Settings& settings, std::size_t nodes,
                                      std::optional<std::size_t> samples);

// Epsilon of each node, in their order; nodes of equally many samples have the same.
nlohmann::json to_json(const PrivacyPlan& plan);
// A table of the nodes with the fewest and the most samples.
std::string to_lines(const PrivacyPlan& plan);

}  // namespace starling::daemon
