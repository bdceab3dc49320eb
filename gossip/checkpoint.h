// Checkpoint: what a node keeps of its training for its next life. The parameters are a handle; the
// driver writes everything to disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "gossip/wire/setting_change.h"
#include "optim/job.h"

namespace starling::gossip {

// An edge as this node remembers it.
struct KeptEdge {
  NodeId peer;
  std::uint64_t edge = 0;  // its edge id, by which the trainer's state knows it
  // Two ends whose claims are equal have averaged the same pairs since the edge opened. Then an
  // exact algorithm keeps its state of the edge at both ends; otherwise both ends drop it.
  std::uint64_t claim = 0;
};

// The exchange as this node remembers it.
struct KeptExchange {
  std::vector<KeptEdge> edges = {};
  double path = 0, sent_path = 0;  // sums of learning rates; see Offering
};

struct Checkpoint {
  std::uint64_t round = 0;      // the last completed one
  std::uint64_t uncounted = 0;  // of the rounds up to then; see RoundCounter
  std::size_t members = 1;      // that trained together, this node too
  std::uint64_t sealed = 0;     // the hash of the model with which the run ended; 0: it has not
  std::string foundation;       // the survey to found on; empty when none is needed
  std::shared_ptr<const optim::SavedState> state;
  KeptExchange exchange;
  std::vector<SettingChange> changes;  // of settings, that the node knows
  std::uint64_t steps = 0, samples = 0;
  double trained_s = 0;  // in all lives
};

// When to save. If both are 0: only on command, at a pause and at the end.
struct CheckpointPlan {
  std::uint64_t rounds = 0;  // after every round whose number is a multiple
  Duration every{};          // after the last save
  bool is_kept = false;      // there is a place to save to
};

// For people.
struct CheckpointStatus {
  bool is_kept = false;                // as in the plan
  std::optional<std::uint64_t> round;  // of the newest checkpoint of this life
  std::uint64_t generation = 0;        // its number on the disk
  Time saved_at{};                     // when it was complete
  Duration took{};                     // from the copy until then
  std::uint64_t bytes = 0;             // on the disk
  bool is_writing = false;
  std::string problem;                       // why the last try failed; empty: it succeeded
  std::optional<std::uint64_t> fleet_round;  // at which all nodes save, or saved, together
};

}  // namespace starling::gossip
