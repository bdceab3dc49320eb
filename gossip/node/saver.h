// Saver: decides when the node's state is saved, and follows what becomes of it. One checkpoint at
// a time is under way: the trainer copies the state between two jobs, and the driver's disk writes
// the copy while training goes on. A disk that is slow, full or broken delays the next checkpoint
// and nothing else.
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
  Saver(const CheckpointPlan& plan, Time now) : plan_(plan), begun_at_(now) {
    status_.is_kept = plan.is_kept;
  }

  // Somebody asked for a checkpoint. It is taken after the round under way.
  void want() { is_wanted_ = true; }
  // The nodes agreed to save after this round, or later where that has passed. A lower number than
  // before changes nothing, and neither does one that was given up.
  void agree(Time now, std::uint64_t round);
  // Agrees to the round that other members say, unless it is far above `own`, this node's round,
  // and the second highest that members are in: one false record must not name a round that is
  // never reached.
  void hear(Time now, const Roster& members, std::uint64_t own);
  // Gives up what was agreed on and is not reached in kWishPatience.
  void tick(Time now, Outbox& out);

  // What checkpoints say of the fleet: the survey that it is founded on, and how many train
  // together.
  void set_fleet(const std::string& foundation, std::size_t members) {
    foundation_ = foundation;
    members_ = members;
  }
  // Whether the job that begins now, after `round`, is to copy the state. `rests`: it is the last
  // one for now.
  bool is_due(Time now, std::uint64_t round, bool rests) const;
  // The same of a job of its own, while the training rests after `round`.
  bool is_due_at_rest(Time now, std::uint64_t round) const;
  // A job copies the state; `checkpoint` is the rest of it.
  void begin(Time now, Checkpoint checkpoint);
  // The copy is made: it goes to the disk.
  void made(std::shared_ptr<const optim::SavedState> state, Outbox& out);
  void saved(Time now, const Saved& result, Outbox& out);

  bool is_kept() const { return plan_.is_kept; }
  // A checkpoint is under way.
  bool is_busy() const { return pending_.has_value(); }
  // Whether the newest checkpoint of this life is that after `round`.
  bool has(std::uint64_t round) const { return status_.round == round; }
  // The round that the nodes agreed on last; 0: none.
  std::uint64_t agreed_round() const { return status_.fleet_round.value_or(0); }
  const CheckpointStatus& status() const { return status_; }

 private:
  bool is_time_to_retry(Time now) const;

  CheckpointPlan plan_;
  std::string foundation_;
  std::size_t members_ = 1;
  bool is_wanted_ = false;
  bool is_agreed_ = false;  // the agreed round is still to be saved
  Time agreed_at_{};
  std::uint64_t given_up_ = 0;  // the last round that was agreed on and not reached
  Time begun_at_;               // of the last try, or of this life
  std::uint64_t begun_round_ = 0;
  std::optional<Checkpoint> pending_;
  CheckpointStatus status_{};
};

}  // namespace starling::gossip
