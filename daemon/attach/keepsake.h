// Keepsake: what a node keeps for its trainers besides the parameters: the tensors of role `donor`,
// and the state that a trainer saved last. A trainer that comes back finds both; the trainer of a
// newcomer gets the tensors of its donor, and the state if the run shares it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/payload.h"
#include "base/time.h"
#include "daemon/attach/trainer_port.h"
#include "optim/state.h"

namespace starling::daemon {

struct SavePlan {
  // Between two requests to save; 0: none. A state that takes long to save is saved less often.
  Duration every{};
  bool is_shared = false;  // with newcomers
};

class Keepsake {
 public:
  // The port outlives it. REQUIRES a clock.
  Keepsake(TrainerPort& port, const SavePlan& plan, std::function<Time()> clock)
      : port_(&port), plan_(plan), clock_(std::move(clock)) {}

  // Gives the keepsake to a new trainer, before its first job. Returns whether it is new.
  bool greet(const std::shared_ptr<const Attached>& trainer);
  // After the trainer's answer to a job: keeps its tensors, and has it save its state when that is
  // due.
  void keep(const Attached& trainer);

  // Has the trainer save its state as it is now, for a checkpoint. Between two jobs. A trainer that
  // was not greeted yet does not save: it still needs the kept state.
  void refresh(const std::shared_ptr<const Attached>& trainer);

  // For an heir of the node: the tensors and the state; for a newcomer the state only if it is
  // shared.
  Payload share(optim::Heir heir) const;
  // The most bytes that share() of another node may have.
  static std::size_t share_limit(const Attached& trainer);
  // Takes the keepsake of another node, or of an earlier life; bytes from outside. Parts that do
  // not fit are left out. As Heir::back it takes the state alone: the network has newer tensors.
  void adopt(const Payload& shared, optim::Heir heir);

 private:
  struct Parts {
    Payload tensors, state;
  };
  static std::optional<Parts> parts_of(const Payload& shared);
  void recall(const Payload& state);
  bool is_due(Time now) const;
  void save(const Attached& trainer);

  TrainerPort* port_;
  SavePlan plan_;
  std::function<Time()> clock_;
  std::weak_ptr<const Attached> known_;  // the last trainer that was greeted
  std::vector<std::byte> tensors_;       // concatenated, as in the table; empty: none yet
  // That a trainer of this node has saved, and that of the donor's; null: none.
  std::shared_ptr<const TrainerState> own_, donors_;
  bool has_tried_ = false;
  Time saved_at_{};
  Duration cost_{};  // of the last time
};

}  // namespace starling::daemon
