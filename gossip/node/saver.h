// Saver: decides when to save the node's state, and tracks the result. One checkpoint at a time:
// the trainer copies the state between two jobs, and the driver writes the copy to disk while
// training goes on. A slow, full or broken disk delays only the next checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/members/roster.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Saver {
 public:
  // `plan` outlives this, and may change.
  Saver(const CheckpointPlan& plan, Time now) : plan_(plan), begun_at_(now) {
    status_.is_kept = plan.is_kept;
  }
  Saver(CheckpointPlan&& plan, Time now) = delete;

  // Requests a checkpoint after the current round.
  void want() { is_wanted_ = true; }
  // The nodes agreed to save after this round; if it has passed, as soon as possible. Ignores a
  // round below the last agreed one, or one that was given up.
  void agree(Time now, std::uint64_t round);
  // Agrees to the round in other members' records, unless it is far above both `own`, this node's
  // round, and the second highest round of the members: one false record must not set a round that
  // is never reached.
  void hear(Time now, const Roster& members, std::uint64_t own);
  // Gives up an agreed round that is not reached in kWishPatience.
  void tick(Time now, Outbox& out);

  // Sets what checkpoints record of the fleet: its foundation, and how many nodes train together.
  void set_fleet(const std::string& foundation, std::size_t members) {
    foundation_ = foundation;
    members_ = members;
  }
  // Whether the next job, after `round`, must copy the state. `rests`: no job follows until the
  // node resumes.
  bool is_due(Time now, std::uint64_t round, bool rests) const;
  // The same for a separate job, while the training rests after `round`.
  bool is_due_at_rest(Time now, std::uint64_t round) const;
  // A job copies the state; `checkpoint` is the rest of it.
  void begin(Time now, Checkpoint checkpoint);
  // Sends the finished copy to the disk.
  void made(std::shared_ptr<const optim::SavedState> state, Outbox& out);
  void saved(Time now, const Saved& result, Outbox& out);

  bool is_kept() const { return plan_.is_kept; }
  // Whether a checkpoint is under way.
  bool is_busy() const { return pending_.has_value(); }
  // Whether the newest checkpoint of this life is of `round`.
  bool has(std::uint64_t round) const { return status_.round == round; }
  // The round that the nodes agreed on last; 0: none.
  std::uint64_t agreed_round() const { return status_.fleet_round.value_or(0); }
  const CheckpointStatus& status() const { return status_; }

 private:
  bool is_time_to_retry(Time now) const;

  const CheckpointPlan& plan_;
  std::string foundation_;
  std::size_t members_ = 1;
  bool is_wanted_ = false;
  bool is_agreed_ = false;  // the agreed round is not saved yet
  Time agreed_at_{};
  std::uint64_t given_up_ = 0;  // the last round that was agreed on and not reached
  Time begun_at_;               // of the last try, or of this life
  std::uint64_t begun_round_ = 0;
  std::optional<Checkpoint> pending_;
  CheckpointStatus status_{};
};

}  // namespace starling::gossip
