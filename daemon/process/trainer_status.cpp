#include "daemon/process/trainer_status.h"

namespace starling::daemon {

std::string_view name(TrainerStatus::State state) {
  switch (state) {
    case TrainerStatus::State::waiting:
      return "waiting";
    case TrainerStatus::State::training:
      return "training";
    case TrainerStatus::State::exchanging:
      return "exchanging";
    case TrainerStatus::State::stalled:
      return "stalled";
    case TrainerStatus::State::lost:
      return "lost";
    case TrainerStatus::State::closed:
      return "closed";
  }
  return "waiting";
}

}  // namespace starling::daemon
