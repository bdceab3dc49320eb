// TrainerStatus: the state of the user's own trainer, for the status and for warnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace starling::daemon {

// TrainerStatus::reason of a trainer that was lost with its process.
inline constexpr std::string_view kProcessEnded = "its process ended";

struct TrainerStatus {
  enum class State {
    waiting,     // none has attached yet
    training,    // takes its steps
    exchanging,  // waits for the daemon to average
    stalled,     // has a job, and counts no step for longer than its steps have taken
    lost,        // its process ended, or violated the protocol
    closed,      // it announced its end
  };
  State state = State::waiting;
  std::string socket = {};   // path
  std::string reason = {};   // of stalled and lost: what happened; else empty
  bool has_command = false;  // the daemon starts it by a command
  bool is_done = false;      // the command has ended with exit code 0
  bool is_silent = false;    // it takes no step, for a short time so far; see StepWatch
  // Of the command that the daemon starts: how it ended and when it starts again; else empty.
  std::string pause = {};
  std::string crashes = {};             // how the command ended last, if every run of it has failed
  std::string refusal = {};             // of the last process that was refused; empty: none
  std::vector<std::string> notes = {};  // of the last minute, for people
  // Of the attached trainer, or the last one; absent before the first.
  std::string client = {}, mode = {};
  std::optional<std::int64_t> process = {};
  std::uint64_t steps = 0;      // that it has counted, in all jobs
  std::uint64_t exchanges = 0;  // jobs that were answered, by all trainers
  std::uint64_t attached = 0;   // trainers so far, one after another
  std::uint64_t refused = 0;    // trainers that were not accepted
  // Of the state that a trainer saved last; absent before.
  std::optional<std::uint64_t> saved_bytes = {};
  // Makes the model file for an exchanged vector x of `dimension` numbers; any thread. Null before
  // the first trainer.
  std::function<std::string(std::span<const double> x,
                            const std::map<std::string, std::string>& metadata)>
      write_model = {};
  std::size_t dimension = 0;
};

inline std::string_view name(TrainerStatus::State state) {
  return name_of({"waiting", "training", "exchanging", "stalled", "lost", "closed"}, state);
}

}  // namespace starling::daemon
