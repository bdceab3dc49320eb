// TrainerStatus: what is known of a trainer of the user's own, for the status and for warnings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optim/local/blocks.h"

namespace starling::daemon {

struct TrainerStatus {
  enum class State {
    waiting,     // none has attached yet
    training,    // takes its steps
    exchanging,  // waits for the daemon to average
    lost,        // its process ended, or broke the rules
    closed,      // it said goodbye
  };
  State state = State::waiting;
  std::string socket = {};  // path
  std::string reason = {};  // of lost: what happened; empty: nothing to say
  // Of the trainer that is here, or was last; absent before the first.
  std::string client = {}, mode = {};
  std::optional<std::int64_t> process = {};
  std::uint64_t steps = 0;      // that it has counted, of all jobs
  std::uint64_t exchanges = 0;  // jobs that were answered, of all trainers
  std::uint64_t attached = 0;   // trainers so far, one after another
  std::uint64_t refused = 0;    // that were not let in
  // Of the exchanged vector, by the trainer's names; null before the first trainer.
  std::shared_ptr<const std::vector<optim::ParameterBlock>> tensors = {};
};

std::string_view name(TrainerStatus::State state);

}  // namespace starling::daemon
